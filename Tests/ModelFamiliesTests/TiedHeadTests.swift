import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

/// Heads that share the word embeddings, and tensors that a checkpoint has under two names.
@Suite("Tied heads, and two names of one tensor")
struct TiedHeadTests {
    /// A fixture with a tied head, and what its tensors are called.
    struct Tied: Sendable {
        let fixture: String
        let words: String
        let head: String
    }
    static let tied = [
        Tied(fixture: "llama_llama3", words: "model.embed_tokens.weight", head: "lm_head.weight"),
        Tied(fixture: "gemma_early", words: "model.embed_tokens.weight", head: "lm_head.weight"),
        Tied(
            fixture: "bert_mlm", words: "bert.embeddings.word_embeddings.weight", head: "cls.predictions.decoder.weight"
        ),
        Tied(
            fixture: "roberta_mlm", words: "roberta.embeddings.word_embeddings.weight", head: "lm_head.decoder.weight"),
        Tied(fixture: "xlmr_mlm", words: "roberta.embeddings.word_embeddings.weight", head: "lm_head.decoder.weight"),
        Tied(fixture: "mpnet_mlm", words: "mpnet.embeddings.word_embeddings.weight", head: "lm_head.decoder.weight"),
        Tied(
            fixture: "distilbert_mlm", words: "distilbert.embeddings.word_embeddings.weight",
            head: "vocab_projector.weight"),
        Tied(fixture: "modernbert_mlm", words: "model.embeddings.tok_embeddings.weight", head: "decoder.weight"),
        Tied(fixture: "whisper_small", words: "model.decoder.embed_tokens.weight", head: "proj_out.weight"),
        Tied(fixture: "moonshine_small", words: "model.decoder.embed_tokens.weight", head: "proj_out.weight"),
    ]

    private func subject(_ tied: Tied, head: ([Float]) -> [Float]) throws -> (ChangedCheckpoint, StoredTensor) {
        var checkpoint = try ChangedCheckpoint(tied.fixture)
        checkpoint.tensors.removeAll { $0.name == tied.head }
        let words = try #require(checkpoint.tensors.first { $0.name == tied.words }, "\(tied.words)")
        checkpoint.tensors.append(StoredTensor(name: tied.head, floats: head(words.floats()), shape: words.shape))
        return (checkpoint, words)
    }

    private func weights(_ model: FamilyModel) -> Set<String> {
        Set(model.programs.last?.constants.filter(\.isWeight).map(\.name) ?? [])
    }

    @Test("A tied head that is stored and differs counts, and a remark says so", arguments: tied)
    func different(tied: Tied) throws {
        let (checkpoint, _) = try subject(tied) { $0.map { $0 * 2 } }
        let model = try checkpoint.model()
        #expect(weights(model).isSuperset(of: [tied.words, tied.head]))
        #expect(model.unused.isEmpty)
        #expect(
            model.remarks == [
                "the configuration ties \(tied.head) to \(tied.words), but they differ: each is used as it is stored "
                    + "(transformers before version 5 used the second for both)"
            ])
        var untied = checkpoint
        untied.set("tie_word_embeddings", false)
        #expect(try untied.model().remarks == [])
        #expect(try weights(untied.model()) == weights(model))
    }

    @Test("A tied head that is equal is not used", arguments: tied)
    func equal(tied: Tied) throws {
        let model = try subject(tied) { $0 }.0.model()
        #expect(!weights(model).contains(tied.head) && weights(model).contains(tied.words))
        #expect(model.unused.map(\.reason) == ["equal to \(tied.words), which is used in its place"])
        #expect(model.remarks.isEmpty)
    }

    @Test("A tied head that stands alone is the word embeddings too", arguments: tied)
    func alone(tied: Tied) throws {
        var checkpoint = try subject(tied) { $0 }.0
        checkpoint.tensors.removeAll { $0.name == tied.words }
        let model = try checkpoint.model()
        #expect(weights(model).contains(tied.head) && !weights(model).contains(tied.words))
        checkpoint.set("tie_word_embeddings", false)
        #expect(checkpoint.rejection()?.contains("the checkpoint has no such tensor") == true)
    }

    /// Tensors and a second name of each.
    static let spellings = [
        ("llama_llama3", "model.embed_tokens.weight", "embed_tokens.weight"),
        ("bert_seqcls", "bert.encoder.layer.1.output.dense.bias", "encoder.layer.1.output.dense.bias"),
        ("bert_base", "embeddings.LayerNorm.weight", "embeddings.LayerNorm.gamma"),
        ("vit_tall", "layernorm.weight", "vit.layernorm.weight"),
        ("whisper_small", "model.encoder.layer_norm.bias", "encoder.layer_norm.bias"),
    ]

    @Test("A tensor under two names has to be equal under both", arguments: spellings)
    func twoNames(fixture: String, first: String, second: String) throws {
        var checkpoint = try ChangedCheckpoint(fixture)
        let tensor = try #require(checkpoint.tensors.first { $0.name == first })
        checkpoint.tensors.append(StoredTensor(name: second, floats: tensor.floats(), shape: tensor.shape))
        let unused = try checkpoint.model().unused
        #expect(unused.count == 1)
        #expect(
            unused.allSatisfy {
                $0.reason == "equal to \($0.name == first ? second : first), which is used in its place"
            })
        checkpoint.tensors.removeLast()
        checkpoint.tensors.append(
            StoredTensor(name: second, floats: tensor.floats().map { $0 + 1 }, shape: tensor.shape))
        let rejection = try #require(checkpoint.rejection())
        #expect(rejection.contains("and both are names of one tensor: remove one"))
        #expect(rejection.contains("\"\(first)\"") && rejection.contains("\"\(second)\""))
    }
}
