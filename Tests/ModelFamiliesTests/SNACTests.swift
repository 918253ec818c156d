import ModelFamilies
import TestSupport
import Testing

@Suite("SNAC against the original framework")
struct SNACTests {
    static let cases = ParityCase.all(["snac"])
    static let files = ["model.safetensors", "model.legacy_names.safetensors"]
    static let parts = ["decoder", "decoder_zero_noise"]

    @Test("every golden output is within 4 times the framework's own noise, in both spellings", arguments: cases, files)
    func parity(subject: ParityCase, file: String) throws {
        try subject.expectParity(of: try subject.model(parts: Self.parts, file: file))
    }

    @Test("every tensor is used or listed as unused with a reason", arguments: cases, files)
    func accounting(subject: ParityCase, file: String) throws {
        let model = try subject.model(file: file)
        try subject.expectAccount(of: model, file: file)
        #expect(model.unused.allSatisfy { $0.reason == "the encoder's, which decoding does not read" })
    }
}
