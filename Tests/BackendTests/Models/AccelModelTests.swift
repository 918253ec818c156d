import Accel
import AccelByteIO
import AccelPrograms
import AccelTensors
import BackendConformance
import TestSupport
import Testing

@Suite("Models and functions of apps")
struct AccelModelTests {
    /// A package, and what its function gives for the framework's inputs.
    private struct Opened {
        let cases: ConformanceCases
        let model: AccelModel
        let inputs: AccelFunction.Inputs
        let expected: [String: HostTensor]

        init(_ configuration: Configuration = .reproducible) async throws {
            cases = try ConformanceCases()
            let subject = try cases.encoder("bert_base", "float32")
            model = try await AccelModel(.path(subject.path), configuration: configuration)
            let run = subject.sequences[0][0]
            (inputs, expected) = (run.inputs.mapValues(AccelTensor.init), run.expected)
        }

        func check(_ outputs: Outputs) throws {
            #expect(outputs.names == expected.keys.sorted())
            for (name, tensor) in expected {
                let found = try outputs[name].array(of: Float.self)
                let scale = tensor.floats.map { abs($0) }.max() ?? 0
                // As in the conformance suite.
                let isNear = zip(found, tensor.floats).allSatisfy { abs($0 - $1) <= 3e-6 * scale }
                #expect(found.count == tensor.floats.count && isNear, "\(name)")
            }
        }
    }

    @Test("a function gives the same outputs, waited for or not")
    func predictions() async throws {
        let opened = try await Opened()
        let function = try opened.model.function("model")
        #expect(opened.model.info.backend == .cpu)
        try opened.check(try await function(opened.inputs))
        try opened.check(try await function.prediction(from: opened.inputs))
        try opened.check(try waited(for: function, opened.inputs))
        let one = try await function.prediction(
            from: opened.inputs, options: RunOptions(outputs: [opened.expected.keys.sorted()[0]]))
        #expect(one.names == [opened.expected.keys.sorted()[0]])
        let error = #expect(throws: AccelError.self) { try one["pooled"] }
        #expect(error?.code == .notFound)
    }

    private func waited(for function: AccelFunction, _ inputs: AccelFunction.Inputs) throws -> Outputs {
        try function.prediction(from: inputs)
    }

    @Test("what does not fit is rejected before anything waits, with its place")
    func rejections() async throws {
        let opened = try await Opened()
        let function = try opened.model.function("model")
        var inputs = opened.inputs
        inputs["input_ids"] = try AccelTensor([1, 2] as [Float])
        var error = await #expect(throws: AccelError.self) { try await function(inputs) }
        #expect(error?.code == .invalid)
        #expect(error?.location.contains("input \"input_ids\"") == true, "\(String(describing: error))")
        #expect(error?.expected?.hasPrefix("I64[") == true && error?.found == "F32[2]")
        error = #expect(throws: AccelError.self) { try opened.model.function("modle") }
        #expect(error?.code == .notFound && error?.hint?.contains("model") == true)
        error = #expect(throws: AccelError.self) { try opened.model.function("model", shape: ["batch": 99]) }
        #expect(error?.code == .notFound)
        #expect(try opened.model.function(function.description.name).description == function.description)
        error = await #expect(throws: AccelError.self) { try await AccelModel(.path("/no/such.accelpkg")) }
        #expect(error?.code == .notFound)
        error = await #expect(throws: AccelError.self) { try await AccelModel(.cached(key: "12")) }
        #expect(error?.code == .invalid)
    }

    @Test("64 tasks share the sessions that the configuration allows, and all get their outputs")
    func load() async throws {
        var configuration = Configuration(threads: 1)
        configuration.concurrency = 3
        let opened = try await Opened(configuration)
        let (function, inputs) = (try opened.model.function("model"), opened.inputs)
        try await withThrowingTaskGroup(of: Outputs.self) { group in
            for _ in 0..<64 { group.addTask { try await function(inputs) } }
            var count = 0
            for try await outputs in group {
                try opened.check(outputs)
                count += 1
            }
            #expect(count == 64)
        }
        #expect(1...3 ~= opened.model.sessionCount)
        opened.model.trimMemory()
        #expect(opened.model.sessionCount == 0)
        try opened.check(try await function(opened.inputs))
    }

    @Test("predictions come in the order of their inputs, and an error ends them")
    func sequences() async throws {
        let opened = try await Opened()
        let function = try opened.model.function("model")
        var others = opened.inputs
        others["input_ids"] = try AccelTensor(
            [Int64](repeating: 3, count: opened.inputs["input_ids"]?.shape.count ?? 0)
        ).reshaped(opened.inputs["input_ids"]?.shape ?? [])
        let name = opened.expected.keys.sorted()[0]
        let expected = [
            try await function(opened.inputs)[name].array(of: Float.self),
            try await function(others)[name].array(of: Float.self),
        ]
        #expect(expected[0] != expected[1])
        var found: [[Float]] = []
        for try await outputs in function.predictions(from: [opened.inputs, others, opened.inputs, others]) {
            found.append(try outputs[name].array(of: Float.self))
        }
        let twice: [[Float]] = [expected, expected].flatMap { $0 }
        #expect(found == twice)
        let iterator = function.predictions(from: [opened.inputs, [:], opened.inputs]).makeAsyncIterator()
        #expect(try await iterator.next() != nil)
        await #expect(throws: AccelError.self) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
    }

    @Test("a call that waits ends with its time, and with its task; the one that has the session goes on")
    func waiting() async throws {
        let blocked = BlockingBackend()
        var configuration = Configuration(threads: 1)
        configuration.registry = Backends([blocked])
        let opened = try await Opened(configuration)
        let (function, inputs) = (try opened.model.function("model"), opened.inputs)
        let first = Task { try await function(inputs) }
        await blocked.gate.entered()
        let late = await #expect(throws: AccelError.self) {
            try await function.prediction(from: opened.inputs, options: RunOptions(timeLimit: .milliseconds(20)))
        }
        #expect(late?.code == .timedOut)
        let second = Task { try await function(inputs) }
        second.cancel()
        let cancelled = await #expect(throws: AccelError.self) { try await second.value }
        #expect(cancelled?.code == .cancelled)
        blocked.gate.open()
        try opened.check(try await first.value)
    }

    @Test("a verifier decides about the signature, after the package's bytes were found intact")
    func trust() async throws {
        struct Verifier: SignatureVerifier {
            let accepts: Bool
            func verify(_ package: AcceleratorPackage) throws {
                _ = try package.signedManifest
                if !accepts { throw RequestError("nobody signed it") }
            }
        }
        let cases = try ConformanceCases()
        let path = try cases.encoder("bert_base", "float32").path
        _ = try await AccelModel(.path(path), trust: .signed(Verifier(accepts: true)))
        let error = await #expect(throws: AccelError.self) {
            try await AccelModel(.path(path), trust: .signed(Verifier(accepts: false)))
        }
        #expect(error?.code == .untrusted && error?.problem == "nobody signed it")
        withExtendedLifetime(cases) {}
    }
}
