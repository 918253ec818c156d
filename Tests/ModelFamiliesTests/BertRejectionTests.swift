import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport
import Testing

@Suite("What the BERT family rejects")
struct BertRejectionTests {
    struct Change: Sendable, CustomTestStringConvertible {
        let field: String
        let value: JSON?
        let sentence: String
        init(_ field: String, _ value: JSON?, _ sentence: String) {
            (self.field, self.value, self.sentence) = (field, value, sentence)
        }
        var testDescription: String { "\(field): \(value?.text() ?? "missing")" }
    }

    private static let supported = Families.all.flatMap { $0.modelTypes }.sorted().joined(separator: ", ")

    static let changes = [
        Change("num_hidden_layers", 0, "config.json, field num_hidden_layers: 0 is outside of 1...1000"),
        Change(
            "num_hidden_layers", 1_000_000_000,
            "config.json, field num_hidden_layers: 1000000000 is outside of 1...1000"),
        Change("hidden_size", "wide", "config.json, field hidden_size: expected an integer, found a string"),
        Change(
            "num_attention_heads", 5, "config.json, field num_attention_heads: 5 heads do not divide hidden_size 36"),
        Change("vocab_size", -1, "config.json, field vocab_size: -1 is outside of 1...16777216"),
        Change("layer_norm_eps", 2, "config.json, field layer_norm_eps: 2.0 is outside of 0..<1"),
        Change("is_decoder", true, "config.json, field is_decoder: BERT as a decoder is not supported"),
        Change("add_cross_attention", true, "config.json, field add_cross_attention: cross attention is not supported"),
        Change(
            "position_embedding_type", "relative_key",
            "config.json, field position_embedding_type: a position embedding other than \"absolute\" is not supported"),
        Change(
            "quantization_config", ["bits": 4],
            "config.json, field quantization_config: a checkpoint that is quantized already is not supported"),
        Change(
            "architectures", ["BertLMHeadModel"],
            "config.json, field architectures[0]: the architecture \"BertLMHeadModel\" is not supported (supported: BertModel, "
                + "BertForMaskedLM, BertForSequenceClassification, BertForTokenClassification, BertForQuestionAnswering, "
                + "BertForPreTraining, BertForMultipleChoice)"),
        Change(
            "hidden_act", "mish",
            "config.json, field hidden_act: the activation \"mish\" is not supported (supported: elu, gelu, gelu_accurate, "
                + "gelu_fast, gelu_new, gelu_python, gelu_python_tanh, gelu_pytorch_tanh, quick_gelu, relu, sigmoid, silu, "
                + "swish, tanh)"),
        Change(
            "model_type", "rwkv", "config.json: models of type \"rwkv\" are not supported (supported: \(supported))"),
        // A class of its own, whose name is like bert.
        Change(
            "model_type", "bart", "config.json: models of type \"bart\" are not supported (supported: \(supported))"),
        Change(
            "intermediate_size", 99,
            "model.safetensors, tensor \"encoder.layer.0.intermediate.dense.weight\": expected shape [99,36] by config.json, found [100,36]"
        ),
        Change(
            "num_hidden_layers", 3,
            "tensor \"encoder.layer.2.attention.self.query.weight\": the checkpoint has no such tensor (expected shape [36,36]): its layers end with 1, and config.json asks for more; see that it is the one of these weights"
        ),
    ]

    @Test("a configuration out of range, or of another model, is rejected in one sentence", arguments: changes)
    func configuration(change: Change) throws {
        var checkpoint = try ChangedCheckpoint("bert_base")
        checkpoint.set(change.field, change.value)
        #expect(checkpoint.rejection()?.trimmingPrefix(", ") == change.sentence[...])
    }

    @Test("a missing tensor is named with its nearest names")
    func missingTensor() throws {
        var checkpoint = try ChangedCheckpoint("bert_base")
        checkpoint.tensors = checkpoint.tensors.map { tensor in
            guard tensor.name == "encoder.layer.1.output.dense.bias" else { return tensor }
            return StoredTensor(
                name: "encoder.layer.1.out.dense.bias", floats: tensor.floats(), shape: tensor.shape)
        }
        let rejection = try #require(checkpoint.rejection())
        #expect(rejection.contains("\"encoder.layer.1.output.dense.bias\": the checkpoint has no such tensor"))
        #expect(rejection.contains("the nearest names are \"encoder.layer.1.out.dense.bias\""))
    }

    @Test("a weight of integers is rejected")
    func integerWeight() throws {
        var checkpoint = try ChangedCheckpoint("bert_base")
        checkpoint.tensors = checkpoint.tensors.map { tensor in
            guard tensor.name == "pooler.dense.bias" else { return tensor }
            return StoredTensor(name: tensor.name, integers: tensor.floats().map { Int64($0) }, shape: tensor.shape)
        }
        #expect(checkpoint.rejection()?.hasSuffix("expected floating-point numbers, found I64") == true)
    }

    @Test("a sentence encoder with other modules is rejected, naming the module")
    func modules() throws {
        var checkpoint = try ChangedCheckpoint("bert_base")
        let transformer = #"{"type": "sentence_transformers.models.Transformer", "path": ""}"#
        let pooling = #"{"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}"#
        checkpoint.files["modules.json"] = "[\(transformer)]"
        #expect(
            checkpoint.rejection() == "modules.json: lists no Pooling module")
        checkpoint.files["modules.json"] = "[\(transformer), \(pooling)]"
        #expect(checkpoint.rejection() == "modules.json, field [1].path: the model has no file 1_Pooling/config.json")
        checkpoint.files["1_Pooling/config.json"] = #"{"word_embedding_dimension": 35}"#
        #expect(
            checkpoint.rejection()
                == "1_Pooling/config.json, field word_embedding_dimension: 35 is not hidden_size 36")
        checkpoint.files["1_Pooling/config.json"] = #"{"pooling_mode": "median"}"#
        #expect(
            checkpoint.rejection()
                == "1_Pooling/config.json, field pooling_mode: the pooling mode \"median\" is not supported (supported: "
                + "cls, max, mean, mean_sqrt_len_tokens, weightedmean, lasttoken)")
        checkpoint.files["1_Pooling/config.json"] = "{}"
        #expect(checkpoint.rejection() == nil)
        let lstm = #"{"type": "sentence_transformers.models.LSTM", "path": "2_LSTM"}"#
        checkpoint.files["modules.json"] = "[\(transformer), \(pooling), \(lstm)]"
        #expect(
            checkpoint.rejection()
                == "modules.json, field [2].type: a module \"LSTM\" is not supported here (supported: a "
                + "Transformer, then a Pooling, then Dense and Normalize)")
    }

    @Test("a sequence longer than the model has positions is rejected, naming the dimension")
    func longSequence() throws {
        let program = try #require(try ChangedCheckpoint("bert_base").model().programs.first)
        #expect(try program.freezing(ShapeBindings(["batch": 1, "sequence": 40])).bindings.numbers["sequence"] == 40)
        #expect(throws: RequestError.self) { try program.freezing(ShapeBindings(["batch": 1, "sequence": 41])) }
        #expect(
            throws: RequestError(
                "dimension sequence has no number", code: .dimensionsUnbound, candidates: ["batch=1,sequence=40"])
        ) { try program.freezing(ShapeBindings(["batch": 1])) }
    }

    @Test("a part that the family does not have is rejected")
    func parts() throws {
        let checkpoint = try Checkpoint(model: Fixtures.path("bert_base"))
        #expect(throws: RequestError("unknown part \"decoder\" (the model has: model)")) {
            try Families.matching(checkpoint.configuration).model(for: checkpoint, parts: ["decoder"])
        }
    }
}
