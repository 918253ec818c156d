import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@Suite("The account of tensors")
struct TensorAccountTests {
    private let head = "cls.predictions.decoder.weight"

    private func withHead(_ change: ([Float]) -> [Float]) throws -> FamilyModel {
        var checkpoint = try ChangedCheckpoint("bert_mlm")
        let words = try #require(checkpoint.tensors.first { $0.name == "bert.embeddings.word_embeddings.weight" })
        checkpoint.tensors.append(StoredTensor(name: head, floats: change(words.floats()), shape: words.shape))
        return try checkpoint.model()
    }

    @Test("a stored head that equals the word embeddings is not stored twice")
    func equalHead() throws {
        let unused = try withHead { $0 }.unused
        #expect(unused.map(\.name) == [head])
        #expect(
            unused.first?.reason == "equal to bert.embeddings.word_embeddings.weight, which is used in its place")
    }

    @Test("a stored head of its own is used, tied by the configuration or not")
    func ownHead() throws {
        let model = try withHead { $0.map { $0 + 1 } }
        #expect(model.unused.isEmpty)
        #expect(model.programs[0].constants.contains { $0.name == head })
    }

    @Test("tensors of buffers and of other heads are unused, each with its reason")
    func reasons() throws {
        var checkpoint = try ChangedCheckpoint("bert_base")
        for name in [
            "embeddings.position_ids", "embeddings.token_type_ids", "cls.predictions.bias",
        ] {
            checkpoint.tensors.append(StoredTensor(name: name, integers: [0], shape: [1]))
        }
        checkpoint.tensors.sort { $0.name < $1.name }
        #expect(
            try checkpoint.model().unused.map(\.reason) == [
                "belongs to a head that BertModel does not have", "positions 0, 1, 2, ..., which need no table",
                "a default for an input, which the caller gives",
            ])
    }
}
