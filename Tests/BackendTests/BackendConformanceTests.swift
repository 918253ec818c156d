import Accel
import BackendConformance
import Testing

@Suite("Backends keep to their contract")
struct BackendConformanceTests {
    /// Those that run packages; others run exports.
    static let backends: [any Backend] =
        Backends.standard.all.filter { [.cpu, .reference].contains($0.id) } + [RecordingBackend(CPUBackend())]

    @Test("every backend that runs packages passes the suite, over several families and all operators")
    func registry() async throws {
        let cases = try ConformanceCases()
        let suite = BackendConformance(try cases.all())
        #expect(Self.backends.count == 3)
        for backend in Self.backends {
            let report = await suite.check(backend)
            for violation in report.violations { Issue.record("\(backend.id): \(violation)") }
            for subject in ConformanceReport.Subject.allCases {
                #expect((report.checks[subject] ?? 0) >= suite.cases.count, "\(backend.id): \(subject)")
            }
            #expect(report.noise.count == suite.cases.count)
        }
        withExtendedLifetime(cases) {}
    }

    @Test("a recording has every call with its session and failure, and the runs are the backend's own")
    func recording() async throws {
        let plugin = try SumPlugin()
        let recording = RecordingBackend(CPUBackend())
        var configuration = Configuration()
        configuration.registry.register(recording)
        #expect(configuration.registry.all.count == Backends.standard.all.count)
        let path = try plugin.conformanceCase().path
        let model = try await AccelModel(.path(path), configuration: configuration)
        #expect(model.info.backend == .cpu)
        let session = try model.makeSession()
        let x = ["x": try AccelTensor([1, 2, 3] as [Float])]
        #expect(try await session.prediction(of: "sum", from: x)["y"].array(of: Float.self) == [1, 2, 3])
        _ = try? await session.prediction(of: "sum", from: [:])
        await session.reset()
        let calls = recording.calls.filter { $0.kind != .snapshot && $0.kind != .restore }
        #expect(calls.prefix(3).map(\.kind) == [.assess, .load, .makeSession])
        #expect(calls.contains { $0.description == "session 0: run sum" })
        #expect(calls.last?.kind == .reset && calls.allSatisfy { $0.duration >= .zero })
    }

    @Test("a backend that is wrong in one way fails the suite in that way", arguments: WrongBackend.Fault.allCases)
    func planted(fault: WrongBackend.Fault) async throws {
        let cases = try ConformanceCases()
        let suite = BackendConformance([
            try cases.decoder("qwen3_small", "float32"),
            try cases.encoder("bert_base", "float32"),
        ])
        let report = await suite.check(WrongBackend(fault))
        withExtendedLifetime(cases) {}
        #expect(report.violations.contains { $0.subject == fault.subject }, "\(report.violations)")
    }
}
