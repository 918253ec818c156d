import ModelFamilies
import TestSupport
import Testing

@Suite("wav2vec 2.0 and HuBERT against the original framework")
struct Wav2Vec2Tests {
    static let cases = ParityCase.all(["wav2vec2", "hubert"])

    @Test("every golden output is within 4 times the framework's own noise", arguments: cases)
    func parity(subject: ParityCase) throws {
        try subject.expectParity(of: try subject.model())
    }

    @Test("every tensor is used or listed as unused with a reason", arguments: cases)
    func accounting(subject: ParityCase) throws {
        let model = try subject.model()
        try subject.expectAccount(of: model)
        #expect(model.unused.allSatisfy { $0.reason == "hides parts of the audio in training" })
    }
}
