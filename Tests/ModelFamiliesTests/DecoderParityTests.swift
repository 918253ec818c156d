import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import TestSupport
import Testing

@Suite("Decoder language models against the original framework")
struct DecoderParityTests {
    @Test(
        "full forward, prefill, steps and caches are within 4 times the framework's own noise",
        arguments: DecoderCase.all, DecoderCase.Way.allCases)
    func parity(subject: DecoderCase, way: DecoderCase.Way) throws {
        let program = try #require(try subject.files.model().programs.first)
        let deviations = try subject.deviations(of: program, by: way)
        #expect(Set(deviations.map(\.output)) == Set(try subject.files.facts()["outputs"].members().map(\.key)))
        for deviation in deviations { #expect(deviation.inNoise <= 4, "\(deviation)") }
    }

    @Test("every tensor is used or listed as unused with a reason", arguments: DecoderCase.all)
    func accounting(subject: DecoderCase) throws {
        try subject.files.expectAccount(of: try subject.files.model())
    }
}
