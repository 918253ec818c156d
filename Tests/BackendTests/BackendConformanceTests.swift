import Accel
import BackendConformance
import Testing

@Suite("Backends keep to their contract")
struct BackendConformanceTests {
    @Test("every backend of the registry passes the suite, over several families and all operators")
    func registry() async throws {
        let cases = try ConformanceCases()
        let suite = BackendConformance(try cases.all())
        #expect(!Backends.standard.all.isEmpty)
        for backend in Backends.standard.all {
            let report = await suite.check(backend)
            for violation in report.violations { Issue.record("\(backend.id): \(violation)") }
            for subject in ConformanceReport.Subject.allCases {
                #expect((report.checks[subject] ?? 0) >= suite.cases.count, "\(backend.id): \(subject)")
            }
            #expect(report.noise.count == suite.cases.count)
        }
        withExtendedLifetime(cases) {}
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
