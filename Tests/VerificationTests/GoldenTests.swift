import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@testable import AccelVerification

@Suite("Goldens")
struct GoldenTests {
    /// Writes a golden of the tiny model, with what the reference gives plus `shift` as the framework's outputs.
    private func golden(
        in folder: String, shift: Float = 0, outputs: Set<String> = ["last_hidden_state", "logits"],
        exact: Bool = false, noise: Double? = nil, name: String? = nil, wrongLabels: Int? = nil
    ) throws -> Golden {
        let frozen = try TinyModel().frozen()
        let inputs = SeededInputs(seed: 3).inputs(for: frozen)
        var tensors = inputs.sorted { $0.key < $1.key }.map { $1.stored(name: "in.\($0)") }
        for (output, tensor) in try frozen.evaluate(inputs) where outputs.contains(output) {
            let shifted = HostTensor(tensor.floats.map { $0 + shift }, tensor.shape)
            tensors.append(shifted.stored(name: "out.\(name ?? output)"))
            if let wrongLabels, output == "logits" {
                let width = tensor.shape.dimensions.last ?? 1
                let labels = (0..<tensor.shape.count / width).map { row in
                    let values = tensor.floats[row * width..<(row + 1) * width]
                    let best = values.indices.max { values[$0] < values[$1] } ?? 0
                    return Int64((best - row * width + (row < wrongLabels ? 1 : 0)) % width)
                }
                tensors.append(
                    StoredTensor(name: "labels", elementType: .int64, shape: [labels.count], bytes: ByteView(labels)))
            }
            if exact {
                let doubles = tensor.floats.map(Double.init)
                tensors.append(
                    StoredTensor(
                        name: "ref64.\(name ?? output)", elementType: .float64, shape: tensor.shape,
                        bytes: ByteView(doubles)))
            }
        }
        let path = "\(folder)/golden.safetensors"
        try SafetensorsWriter.write(tensors, to: path, as: .part)
        if let noise {
            let text = #"{"fp32_noise": {"last_hidden_state": {"max_abs_fp32_vs_64": \#(noise), "ref_rms": 1.0}}}"#
            try Data(text.utf8).write(to: URL(filePath: "\(folder)/case.json"))
        }
        return try Golden(path)
    }

    private func check(_ golden: Golden, model: Bool = true) throws -> ParityReport {
        let tiny = try TinyModel()
        return try Parity(
            of: .planned(try tiny.planned("float32")), against: model ? .reference([tiny.program]) : nil
        ).check(.init(stages: [.outputs], inputs: .golden(golden)))
    }

    @Test("case.json beside the file sets four times its noise as the limit", arguments: [(1e-3, true), (1e-4, false)])
    func noise(noise: Double, passes: Bool) throws {
        try withTemporaryFolder { folder in
            let report = try check(
                try golden(in: folder, shift: 3e-3, outputs: ["last_hidden_state"], noise: noise))
            let row = try #require(report.outputs.first { $0.reference == .golden })
            #expect(row.tolerance.maximumError == 4 * noise)
            #expect(row.tolerance.origin.contains("case.json"))
            #expect((row.failure == nil) == passes)
            #expect(report.exitStatus == (passes ? .success : .exceeded))
            // The model's own meaning is off by as much: the report tells that the package is not to blame.
            #expect(report.outputs.contains { $0.reference == .modelAgainstGolden && ($0.failure == nil) == passes })
        }
    }

    @Test("Without case.json the golden's own distance from ref64 sets the limit")
    func exact() throws {
        try withTemporaryFolder { folder in
            let report = try check(try golden(in: folder, shift: 1e-3, exact: true), model: false)
            let row = try #require(report.outputs.first)
            let limit = try #require(row.tolerance.maximumError)
            #expect(abs(limit - 4e-3) < 4e-6)
            #expect(row.tolerance.origin.contains("ref64.last_hidden_state"))
            #expect(report.exitStatus == .success)
        }
    }

    @Test("Without any statement of noise the element type sets the limit")
    func elementType() throws {
        try withTemporaryFolder { folder in
            let golden = try golden(in: folder, shift: 3e-3)
            let report = try check(golden)
            #expect(report.outputs.allSatisfy { $0.tolerance == .unstatedNoise })
            #expect(report.exitStatus == .exceeded)
        }
    }

    @Test("An output that the golden lacks is listed, and never counted as passed")
    func notCompared() throws {
        try withTemporaryFolder { folder in
            let report = try check(try golden(in: folder, outputs: ["logits"]), model: false)
            #expect(report.comparisons(in: .outputs) == 1)
            #expect(report.notCompared.contains { $0.name.hasSuffix("last_hidden_state") })
            #expect(report.exitStatus == .success)
        }
        try withTemporaryFolder { folder in
            let report = try check(try golden(in: folder, outputs: ["logits"], name: "somewhere_else"))
            #expect(report.outputs.allSatisfy { $0.reference == .originalWeights && $0.failure == nil })
            #expect(report.notCompared.contains { $0.name.hasSuffix("out.somewhere_else") })
            #expect(report.verdict == .nothingCompared && report.exitStatus == .unavailable)
        }
    }

    @Test(
        "The labels of a golden are counted for the package and for the golden's own output, and go into every report")
    func labels() throws {
        try withTemporaryFolder { folder in
            let report = try check(try golden(in: folder, wrongLabels: 3))
            let score = try #require(report.outputs.first { $0.reference == .golden && $0.name == "logits" }?.labels)
            #expect(score.count > 3 && score.right == score.count - 3 && score.originalRight == score.right)
            #expect(report.outputs.filter { $0.name != "logits" }.allSatisfy { $0.labels == nil })
            #expect(report.terminal(width: 100).contains("\(score.right) of \(score.count) labels right"))
        }
    }

    @Test("Labels that the output has no row for score nothing; a label outside the row is never right")
    func oddLabels() {
        func labels(_ values: [Int64]) -> StoredTensor {
            StoredTensor(name: "labels", elementType: .int64, shape: [values.count], bytes: ByteView(values))
        }
        let rows: [Float] = [1, 2, 4, 3]
        #expect(LabelScore(rows, original: [2, 1, 4, 3], labels: labels([1, 0]))?.right == 2)
        #expect(LabelScore(rows, original: [2, 1, 4, 3], labels: labels([1, 0]))?.originalRight == 1)
        #expect(LabelScore(rows, original: rows, labels: labels([-1, .max]))?.right == 0)
        #expect(LabelScore(rows, original: rows, labels: labels([0, 1, 0])) == nil)
        #expect(LabelScore(rows, original: rows, labels: labels([])) == nil)
    }

    @Test("A golden of numbered samples runs each, and names its outputs by their numbers")
    func samples() throws {
        let tiny = try TinyModel()
        let frozen = try tiny.frozen()
        try withTemporaryFolder { folder in
            var tensors: [StoredTensor] = []
            for sample in 0..<3 {
                let inputs = SeededInputs(seed: UInt64(sample)).inputs(for: frozen)
                tensors += inputs.sorted { $0.key < $1.key }.map { $1.stored(name: "in.\($0).\(sample)") }
                for (output, tensor) in try frozen.evaluate(inputs) where sample < 2 || output == "logits" {
                    tensors.append(tensor.stored(name: "out.\(output).\(sample)"))
                }
            }
            let path = "\(folder)/golden.safetensors"
            try SafetensorsWriter.write(tensors, to: path, as: .part)
            #expect(
                try ShapeBindings(fitting: SafetensorsFile(path).tensors, to: tiny.program, file: path)
                    == ShapeBindings(parsing: "batch=2,sequence=8"))
            let report = try check(try Golden(path))
            let names = report.outputs.filter { $0.reference == .golden }.map(\.name)
            #expect(names == ["last_hidden_state.0", "logits.0", "last_hidden_state.1", "logits.1", "logits.2"])
            // What the golden does not tell the model does.
            #expect(report.notCompared.isEmpty)
            #expect(
                report.outputs.filter { $0.reference == .originalWeights }.map(\.name) == ["last_hidden_state.2"])
            let alone = try check(try Golden(path), model: false)
            #expect(alone.notCompared.map(\.reason) == ["the golden has no out.last_hidden_state.2"])
            #expect(report.exitStatus == .success)
        }
    }

    /// y = x + state; the state becomes 2 y.
    private static func doubling() throws -> Program {
        var builder = ProgramBuilder(name: "model")
        let x = builder.input("x", TensorType(.float32, [4]))
        let state = builder.state("state", TensorType(.float32, [4]))
        let sum = try builder.apply(Add(), [x, state])
        builder.update("state", to: try builder.apply(Add(), [sum, sum]))
        builder.output("y", sum)
        return try builder.finish()
    }

    @Test("A state starts as the golden's input of its name, and is compared with its output of that name afterwards")
    func states() throws {
        let program = try Self.doubling()
        let planned = try CompressedProgram(functions: [program.freezing(ShapeBindings())], weights: []).planned()
        for factor in [1, 1.5] as [Float] {
            try withTemporaryFolder { folder in
                let path = "\(folder)/golden.safetensors"
                let tensors: [StoredTensor] = [
                    ("in.x", 3 as Float), ("in.state", 10), ("out.y", 13), ("out.state", 26 * factor),
                ].map { name, number in
                    StoredTensor(name: name, floats: [1, 2, 3, 4].map { $0 * number }, shape: [4])
                }
                try SafetensorsWriter.write(tensors, to: path, as: .part)
                let report = try Parity(of: .planned(planned), against: .reference([program]))
                    .check(.init(inputs: .golden(Golden(path))))
                let rows = report.outputs.filter { $0.reference == .golden }
                #expect(rows.map(\.name) == ["y", "state"])
                #expect(rows.map { $0.failure == nil } == [true, factor == 1])
                #expect(report.notCompared.isEmpty, "\(report.notCompared)")
                #expect(report.exitStatus == (factor == 1 ? .success : .exceeded))
            }
        }
    }

    @Test("Without a golden, states are drawn too, and what a run leaves in them is compared")
    func drawnStates() throws {
        let program = try Self.doubling()
        var planned = try CompressedProgram(functions: [program.freezing(ShapeBindings())], weights: []).planned()
        let parity = { try Parity(of: .planned(planned), against: .reference([program])).check() }
        let report = try parity()
        #expect(report.exitStatus == .success && Set(report.outputs.map(\.name)) == ["y", "state"])
        let frozen = try program.freezing(ShapeBindings())
        #expect(try SeededInputs(seed: 1).feed(for: frozen).state("state")?.floats.allSatisfy { $0 != 0 } == true)
        // A state that is not written.
        planned.functions[0].calls.removeLast()
        planned.functions[0].calls.append(
            KernelCall(
                operation: Copy(), label: "state.update", inputs: [planned.functions[0].outputs[0].operand],
                outputs: [
                    Operand(storage: .state(0), elementType: .float32, layout: StridedLayout(shape: [4]))
                ]))
        let wrong = try parity()
        #expect(wrong.exitStatus == .exceeded)
        #expect(wrong.outputs.filter { $0.stage == .graph && $0.failure != nil }.map(\.name) == ["state"])
    }

    @Test("Inputs with numbers of their own are no samples")
    func numberedInputs() throws {
        try withTemporaryFolder { folder in
            let path = "\(folder)/golden.safetensors"
            let names = ["in.codes.0", "in.codes.1", "in.noise.0", "out.audio"]
            try SafetensorsWriter.write(
                names.map { StoredTensor(name: $0, integers: [1], shape: [1]) }, to: path, as: .part)
            let samples = try Golden(path).samples
            #expect(samples.map { $0.inputs.keys.sorted() } == [["codes.0", "codes.1", "noise.0"]])
        }
    }

    @Test("A file without outputs is no golden")
    func noOutputs() throws {
        try withTemporaryFolder { folder in
            let error = #expect(throws: RequestError.self) { try golden(in: folder, outputs: []) }
            #expect(error?.exitStatus == .unavailable)
        }
    }
}
