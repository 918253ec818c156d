import AccelByteIO
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import AccelCPURuntime

@Suite("Executions on the caller's memory")
struct ExecutionTests {
    @Test("inputs are read and outputs written where they lie; results are the executor's")
    func memory() throws {
        let program = try ExecutorTests.sample()
        let execution = try Execution(program.program)
        let expected = try program.run()
        let names = execution.function.outputs.map(\.name)
        #expect(throws: RequestError.self) { try execution.run() }
        try execution.withInput("x0", of: Int64.self) { indices in
            for (place, index) in [2, 0, 1].enumerated() { indices[place] = Int64(index) }
        }
        #expect(throws: RequestError.self) { try execution.withOutput(names[0], of: Float.self) { _ in } }
        try execution.run()
        for (name, tensor) in zip(names, expected) { #expect(try execution.floats(name) == tensor.floats) }

        // The execution keeps the bytes, and sees what is written to them.
        let buffer = ByteBuffer(count: 24)
        let shared = StoredTensor(name: "x0", elementType: .int64, shape: [1, 3], bytes: ByteView(buffer))
        try execution.setInput("x0", to: shared)
        try execution.run()
        let zeros = try execution.floats(names[0])
        for (place, index) in [2, 0, 1].enumerated() {
            buffer.bytes.storeBytes(of: Int64(index), toByteOffset: place * 8, as: Int64.self)
        }
        try execution.run()
        #expect(try execution.floats(names[0]) == expected[0].floats)
        #expect(zeros != expected[0].floats)
    }

    @Test("outputs that are strided, inputs or weights are there as contiguous elements")
    func outputs() throws {
        let program = try SmallProgram { maker in
            let x = maker.input([4, 6])
            let sum = try maker.builder.apply(Add(), [x, x])
            return [try maker.builder.apply(Transpose([1, 0]), [sum]), x, maker.weight([70, 80])]
        }
        let execution = try Execution(program.program)
        for (name, tensor) in program.storedInputs { try execution.setInput(name, to: tensor) }
        for _ in 0..<2 {
            try execution.run()
            for (output, expected) in zip(execution.function.outputs, try program.run()) {
                #expect(try execution.floats(output.name) == expected.floats)
            }
        }
    }

    @Test("one arena serves all functions of a session; outputs are to be read before another one runs")
    func sharedArena() throws {
        let session = try Session(try StateSamples.twoSizes())
        let executions = try [0, 1].map { try session.makeExecution(of: $0) }
        for execution in executions {
            try execution.withInput("x", of: Float.self) { x in for index in x.indices { x[index] = Float(index) } }
        }
        try executions[0].run()
        let first = try executions[0].floats("y")
        try executions[1].run()
        #expect(throws: RequestError.self) { try executions[0].floats("y") }
        #expect(try executions[1].floats("y").prefix(first.count).elementsEqual(first))
        try executions[0].run()
        #expect(try executions[0].floats("y") == first)
        let arenas = session.program.functions.map(\.arenaBytes)
        #expect(session.arenaBytes < arenas.reduce(0, +) + 4096)
        #expect(session.arenaBytes >= arenas.max() ?? 0)
    }

    @Test("inputs of a wrong name, type, shape or place are rejected")
    func rejected() throws {
        let program = try ExecutorTests.sample()
        let execution = try Execution(program.program)
        let odd = ByteView([UInt8](repeating: 0, count: 25))[1..<25]
        let rejections: [(String, StoredTensor)] = [
            ("x", StoredTensor(name: "x", integers: [0, 0, 0], shape: [1, 3])),
            ("x0", StoredTensor(name: "x", integers: [0, 0, 0], shape: [3])),
            ("x0", StoredTensor(name: "x", floats: [0, 0, 0], shape: [1, 3])),
            ("x0", StoredTensor(name: "x", elementType: .int64, shape: [1, 3], bytes: odd)),
        ]
        for (name, tensor) in rejections {
            #expect(throws: RequestError.self) { try execution.setInput(name, to: tensor) }
        }
        #expect(throws: RequestError.self) { try execution.withInput("x0", of: Float.self) { _ in } }
    }
}

extension Execution {
    fileprivate func floats(_ name: String) throws -> [Float] {
        try withOutput(name, of: Float.self) { span in span.indices.map { span[$0] } }
    }
}

enum StateSamples {
    /// Two functions of the same meaning, for 100 and for 1000 elements.
    static func twoSizes() throws -> ModelPlan {
        let functions = try [100, 1000].map { count in
            var builder = ProgramBuilder(name: "model\(count)")
            let x = builder.input("x", TensorType(.float32, shape: [count]))
            let exponential = try builder.apply(Exp(), [try builder.apply(Negate(), [x])])
            builder.output("y", try builder.apply(Add(), [exponential, x]))
            return try builder.finish().freezing(ShapeBindings())
        }
        return try CompressedProgram(functions: functions, weights: []).planned()
    }
}

@Suite("What a run asks of the system")
struct RunCostTests {
    /// The executable lies in the build folder, beside the test bundle.
    private static let counter: URL = {
        #if os(macOS)
            let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") } ?? Bundle.main
            return bundle.bundleURL.deletingLastPathComponent().appending(path: "AllocationCounter")
        #else
            return Bundle.main.bundleURL.appending(path: "AllocationCounter")
        #endif
    }()

    struct Line {
        let name: String
        let allocations: Int
        let locks: Int
        let wakes: Int
    }

    /// nil where nothing can be counted.
    private func count(_ words: [String]) throws -> [Line]? {
        let (process, pipe) = (Process(), Pipe())
        (process.executableURL, process.arguments, process.standardOutput) = (Self.counter, words, pipe)
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(words)")
        if text == "impossible\n" { return nil }
        return try text.split(separator: "\n").map { line in
            let numbers = line.split(separator: " ").suffix(3).compactMap { Int($0) }
            try #require(numbers.count == 3, "\(line)")
            return Line(name: String(line), allocations: numbers[0], locks: numbers[1], wakes: numbers[2])
        }
    }

    @Test("what is allocated and locked by intent is counted")
    func control() throws {
        guard let lines = try count(["plant"]) else { return }
        #expect(lines.count == 1)
        #expect(lines.allSatisfy { $0.allocations == 1 && $0.locks == 1 })
    }

    /// Of several kinds: encoders, decoders with a prefill and a step function, vision, speech, and audio codecs.
    static let families = [
        "bert_base", "qwen3_small", "whisper_small", "vit_tall", "wav2vec2_odd", "snac_plain", "kokoro_small",
        "gemma3_old", "siglip_both", "parakeet_ctc",
    ]

    @Test(
        "a second run allocates nothing, takes no lock, and wakes the team once at most",
        arguments: [["families"], ["operators"], ["codecs"]], [1, 2])
    func secondRun(words: [String], threads: Int) throws {
        let fixtures = words == ["families"] ? Self.families : []
        guard let lines = try count(words + ["\(threads)"] + fixtures) else { return }
        #expect(lines.count >= (fixtures.isEmpty ? 10 : fixtures.count))
        // Two runs are counted.
        for line in lines where line.allocations > 0 || line.locks > 0 || line.wakes > (threads == 1 ? 0 : 2) {
            Issue.record("\(line.name)")
        }
        #expect(threads == 1 || lines.contains { $0.wakes == 2 } || words != ["families"])
    }
}
