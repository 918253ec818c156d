import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@Suite("Language models without a head")
struct BareModelTests {
    /// What a checkpoint becomes when its base model is saved alone: names without `model.`, and no head.
    private func bare(_ fixture: String, _ architecture: String) throws -> ChangedCheckpoint {
        var checkpoint = try ChangedCheckpoint(fixture)
        checkpoint.set("architectures", .array([.string(architecture)]))
        checkpoint.tensors = checkpoint.tensors.filter { $0.name.hasPrefix("model.") }.map {
            StoredTensor(
                name: String($0.name.dropFirst("model.".count)), elementType: $0.elementType, shape: $0.shape,
                bytes: $0.bytes)
        }
        return checkpoint
    }

    @Test(
        "gives the hidden states of which the head makes logits",
        arguments: [
            ("llama_llama3", "LlamaModel"), ("mistral_window", "MistralModel"), ("qwen2_window", "Qwen2Model"),
            ("qwen3_small", "Qwen3Model"), ("phi3_partial", "Phi3Model"),
        ])
    func decoders(fixture: String, architecture: String) throws {
        let subject = ParityCase(folder: Fixtures.path(fixture))
        let checkpoint = try Checkpoint(model: subject.folder)
        let model = try bare(fixture, architecture).model()
        #expect(model.unused.isEmpty)
        let hidden = try full(try #require(model.programs.first), subject)
        #expect(hidden.name == "last_hidden_state")
        let logits = try full(try #require(try subject.model().programs.first), subject)
        let head = try #require(checkpoint["lm_head.weight"] ?? checkpoint["model.embed_tokens.weight"])
        #expect(try Linear().evaluate([hidden.tensor, HostTensor(head)]) == [logits.tensor])
    }

    private func full(_ program: Program, _ subject: ParityCase) throws -> (name: String, tensor: HostTensor) {
        let tokens = HostTensor(try #require(try subject.golden()["in.input_ids"]))
        let (batch, count) = (tokens.shape.dimensions[0], tokens.shape.dimensions[1])
        let frozen = try program.freezing(ShapeBindings(["batch": batch, "tokens": count, "cache": count]))
        var states: [String: HostTensor] = [:]
        let inputs = ["input_ids": tokens, "position": HostTensor([Int64(0)], [1])]
        return try #require(try frozen.evaluate(inputs, states: &states).first)
    }

    @Test("A head that is not known is left out, and told: the base model remains")
    func leftOut() throws {
        var choice = try ChangedCheckpoint("roberta_seqcls")
        choice.set("architectures", ["RobertaForPhraseClassification"])
        let body = try choice.model()
        #expect(body.programs.first?.outputs.first?.name == "last_hidden_state")
        #expect(body.remarks == ["this is the base model of RobertaForPhraseClassification, without its head"])
        #expect(!body.unused.isEmpty)

        var tagger = try ChangedCheckpoint("mistral_window")
        let score = StoredTensor(name: "v_head.weight", floats: [Float](repeating: 1, count: 4), shape: [1, 4])
        tagger.tensors = tagger.tensors.filter { $0.name.hasPrefix("model.") } + [score]
        #expect(tagger.rejection() != nil)
        tagger.set("architectures", ["MistralForTokenClassification"])
        let model = try tagger.model()
        #expect(
            model.unused.map { "\($0.name): \($0.reason)" }
                == ["v_head.weight: belongs to the head of MistralForTokenClassification, which is left out"])
        // What belongs to the base model is not the head's.
        tagger.tensors.append(
            StoredTensor(name: "model.layers.0.extra.weight", floats: [1, 1, 1, 1], shape: [1, 4]))
        #expect(tagger.rejection() != nil)
    }

    @Test("Whisper and Gemma 3 are read without a head, and a stored head is listed as unused")
    func others() throws {
        let gemma = try bare("gemma3_old", "Gemma3TextModel").model()
        #expect(gemma.programs.first?.outputs.map(\.name) == ["last_hidden_state"])
        let whisper = try bare("whisper_small", "WhisperModel").model()
        #expect(whisper.programs.last?.outputs.map(\.name) == ["last_hidden_state"])
        #expect(whisper.unused.isEmpty)
        var headed = try ChangedCheckpoint("mistral_window")
        headed.set("architectures", ["MistralModel"])
        #expect(try headed.model().unused.map(\.reason) == ["the bare model has no head"])
    }
}
