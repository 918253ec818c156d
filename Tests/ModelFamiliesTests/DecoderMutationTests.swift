import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@Suite("Decoder language models: what parity has to notice, and what is rejected")
struct DecoderMutationTests {
    /// A mistake, in the configuration, the names of tensors, or the program.
    struct Mutation: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let fixture: String
        var fields: [(String, JSON?)] = []
        /// Tensors of one shape that change names.
        var swapped: (String, String)?
        /// Nodes whose label has this in it give their first input, a linear one its result without bias.
        var without: String?

        func apply(_ node: Program.Node, _ inputs: [Value], _ builder: inout ProgramBuilder) throws -> [Value]? {
            guard let without, node.label.contains(without) else { return nil }
            guard node.operation is Linear else { return [inputs[0]] }
            return [try builder.apply(node.operation, Array(inputs[..<2]))]
        }
    }

    static let mutations = [
        Mutation(
            testDescription: "another rope type", fixture: "llama_llama3",
            fields: [("rope_parameters", ["rope_type": "default", "rope_theta": 500])]),
        Mutation(
            testDescription: "all pairs turned", fixture: "llama_proportional",
            fields: [("rope_parameters", ["rope_type": "proportional", "rope_theta": 700, "factor": 2])]),
        Mutation(
            testDescription: "another rope base", fixture: "llama_linear_old", fields: [("rope_theta", 10_000)]),
        Mutation(
            testDescription: "yarn without its attention factor", fixture: "llama_yarn",
            fields: [
                (
                    "rope_parameters",
                    [
                        "rope_type": "yarn", "rope_theta": 900, "factor": 4, "attention_factor": 1,
                        "original_max_position_embeddings": 16,
                    ]
                )
            ]),
        Mutation(
            testDescription: "dynamic rope as the default", fixture: "llama_dynamic",
            fields: [("rope_parameters", ["rope_type": "default", "rope_theta": 10_000])]),
        Mutation(
            testDescription: "short factors in place of long ones", fixture: "phi3_long",
            fields: [("original_max_position_embeddings", 64)]),
        Mutation(
            testDescription: "whole heads turned", fixture: "phi3_partial",
            fields: [("rope_parameters", ["rope_type": "default", "rope_theta": 10_000])]),
        Mutation(
            testDescription: "long factors as the default", fixture: "phi3_long",
            fields: [("rope_parameters", ["rope_type": "default", "rope_theta": 10_000])]),
        Mutation(testDescription: "no window", fixture: "mistral_window", fields: [("sliding_window", .null)]),
        Mutation(testDescription: "no window of Phi-3", fixture: "phi3_partial", fields: [("sliding_window", .null)]),
        Mutation(
            testDescription: "no window of Qwen 2", fixture: "qwen2_window",
            fields: [("layer_types", ["full_attention", "full_attention"])]),
        Mutation(testDescription: "a wider window of Gemma 3", fixture: "gemma3_old", fields: [("sliding_window", 5)]),
        Mutation(testDescription: "a wider window", fixture: "mistral_window", fields: [("sliding_window", 4)]),
        Mutation(
            testDescription: "a window in other layers", fixture: "qwen2_window",
            fields: [("layer_types", ["sliding_attention", "full_attention"])]),
        Mutation(
            testDescription: "one base for all layers", fixture: "gemma3_old",
            fields: [("rope_local_base_freq", 40_000)]),
        Mutation(testDescription: "no logit cap", fixture: "gemma3_old", fields: [("final_logit_softcapping", .null)]),
        Mutation(testDescription: "another activation", fixture: "gemma3_old", fields: [("hidden_activation", "gelu")]),
        Mutation(
            testDescription: "another activation of an early Gemma", fixture: "gemma_early",
            fields: [("hidden_act", "gelu_python")]),
        Mutation(testDescription: "gains from zero", fixture: "gemma3_old", without: "layers.1.input_layernorm.add"),
        Mutation(
            testDescription: "swapped queries and keys", fixture: "llama_linear_old",
            swapped: ("model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.k_proj.weight")),
        Mutation(
            testDescription: "swapped norms of queries and keys", fixture: "qwen3_small",
            swapped: ("model.layers.0.self_attn.q_norm.weight", "model.layers.0.self_attn.k_norm.weight")),
        Mutation(
            testDescription: "swapped norms of Gemma 3's queries and keys", fixture: "gemma3_old",
            swapped: ("model.layers.1.self_attn.q_norm.weight", "model.layers.1.self_attn.k_norm.weight")),
        Mutation(
            testDescription: "swapped keys and values", fixture: "mistral_window",
            swapped: ("model.layers.1.self_attn.k_proj.weight", "model.layers.1.self_attn.v_proj.weight")),
        Mutation(
            testDescription: "a dropped bias of Qwen 3's queries", fixture: "qwen3_small",
            without: "layers.0.self_attn.q_proj.linear"),
        Mutation(
            testDescription: "a dropped bias of keys", fixture: "qwen2_window",
            without: "layers.1.self_attn.k_proj.linear"),
        Mutation(
            testDescription: "a dropped bias of the output", fixture: "llama_llama3",
            without: "layers.0.self_attn.o_proj.linear"),
        Mutation(
            testDescription: "queries not normalised", fixture: "qwen3_small",
            without: "layers.0.self_attn.q_norm.rms_norm"),
        Mutation(
            testDescription: "keys not normalised", fixture: "qwen3_small",
            without: "layers.1.self_attn.k_norm.rms_norm"),
    ]

    @Test("a mistake fails", arguments: mutations)
    func mutationsAreCaught(mutation: Mutation) throws {
        var checkpoint = try ChangedCheckpoint(mutation.fixture)
        for (field, value) in mutation.fields { checkpoint.set(field, value) }
        if let (one, other) = mutation.swapped {
            checkpoint.tensors = checkpoint.tensors.map { tensor in
                let name = tensor.name == one ? other : tensor.name == other ? one : tensor.name
                return StoredTensor(name: name, floats: tensor.floats(), shape: tensor.shape)
            }
        }
        let program = try #require(try checkpoint.model().programs.first).rewriting(mutation.apply)
        let subject = DecoderCase(files: ParityCase(folder: Fixtures.path(mutation.fixture)))
        let worst = try subject.deviations(of: program, by: .executor).map(\.inNoise).max() ?? 0
        #expect(worst > 40)
    }

    struct Rejection: Sendable, CustomTestStringConvertible {
        let fixture: String
        let field: String
        let value: JSON?
        let sentence: String
        var testDescription: String { "\(fixture), \(field)" }
    }

    static let rejections = [
        Rejection(
            fixture: "llama_yarn", field: "rope_parameters", value: ["rope_type": "mystic"],
            sentence:
                "config.json, field rope_parameters.rope_type: rotary embeddings of type \"mystic\" are not "
                + "supported (supported: default, linear, dynamic, llama3, yarn, longrope, proportional)"),
        Rejection(
            fixture: "llama_yarn", field: "rope_parameters", value: ["rope_type": "linear", "factor": 0],
            sentence: "config.json, field rope_parameters.factor: 0.0 is outside of 0...1e12"),
        Rejection(
            fixture: "phi3_long", field: "rope_parameters",
            value: ["type": "su", "long_factor": [1], "short_factor": [1, 1, 1]],
            sentence:
                "config.json, field rope_parameters.long_factor: expected 3 numbers, one a pair of elements, found 1"),
        Rejection(
            fixture: "llama_yarn", field: "num_key_value_heads", value: 3,
            sentence: "config.json, field num_key_value_heads: 3 key heads do not divide 4 heads"),
        Rejection(
            fixture: "qwen2_window", field: "layer_types", value: ["full_attention"],
            sentence: "config.json, field layer_types: expected 2 layers, found 1"),
        Rejection(
            fixture: "qwen2_window", field: "use_sliding_window", value: false,
            sentence: "config.json, field layer_types: names sliding_attention, but the model has no sliding window"),
        Rejection(
            fixture: "gemma3_old", field: "attn_logit_softcapping", value: 50,
            sentence: "config.json, field attn_logit_softcapping: a softcap of attention scores is not supported"),
        Rejection(
            fixture: "gemma3_old", field: "use_bidirectional_attention", value: true,
            sentence:
                "config.json, field use_bidirectional_attention: a model that generates text by tokens that attend to "
                + "those after them is not supported"),
        Rejection(
            fixture: "mistral_window", field: "architectures", value: ["MixtralForCausalLM"],
            sentence: "config.json, field architectures[0]: the architecture \"MixtralForCausalLM\" is not "
                + "supported (supported: MistralForCausalLM, MistralModel, MistralForSequenceClassification)"),
        Rejection(
            fixture: "gemma_early", field: "hidden_activation", value: "relu",
            sentence:
                "config.json, field hidden_activation: differs from hidden_act, which the framework reads instead "
                + "from version 5 on"),
        Rejection(
            fixture: "mistral_window", field: "hidden_size", value: nil,
            sentence: "config.json, field hidden_size: expected an integer, found nothing"),
    ]

    @Test("a configuration that does not fit is rejected in one sentence", arguments: rejections)
    func rejects(rejection: Rejection) throws {
        var checkpoint = try ChangedCheckpoint(rejection.fixture)
        checkpoint.set(rejection.field, rejection.value)
        #expect(checkpoint.rejection()?.trimmingPrefix(", ") == rejection.sentence[...])
    }

    @Test("300 steps equal the full forward")
    func manySteps() throws {
        let model = try ParityCase(folder: Fixtures.path("llama_llama3")).model()
        let program = try #require(model.programs.first)
        var generator = SeededGenerator(seed: 3)
        let tokens = HostTensor((0..<300).map { _ in Int64.random(in: 0..<47, using: &generator) }, [1, 300])
        var full = try DecoderRun(program, blocks: [300], cache: 300, by: .executor)
        let expected = try full.logits(tokens, at: 0).floats
        var steps = try DecoderRun(program, blocks: [1], cache: 300, by: .executor)
        let found = try (0..<300).flatMap { try steps.logits(tokens.columns($0..<$0 + 1), at: $0).floats }
        #expect(found.count == expected.count)
        #expect(zip(found, expected).allSatisfy { abs($0 - $1) <= 2e-5 })
    }

    @Test("a block longer than the cache, or that begins beyond it, is rejected")
    func beyondTheCache() throws {
        let program = try #require(try ParityCase(folder: Fixtures.path("llama_yarn")).model().programs.first)
        let error = #expect(throws: RequestError.self) { try DecoderRun(program, blocks: [5], cache: 4, by: .executor) }
        #expect(error?.description.contains("a block is at most as long as its cache") == true)
        var run = try DecoderRun(program, blocks: [2], cache: 4, by: .executor)
        #expect(throws: ShapeError.self) { try run.logits(HostTensor([Int64(1), 2], [1, 2]), at: 3) }
    }

    @Test("a stored head that equals the word embeddings is listed as unused")
    func equalHead() throws {
        var checkpoint = try ChangedCheckpoint("llama_llama3")
        let words = try #require(checkpoint.tensors.first { $0.name == "model.embed_tokens.weight" })
        checkpoint.tensors.append(StoredTensor(name: "lm_head.weight", floats: words.floats(), shape: words.shape))
        let model = try checkpoint.model()
        #expect(model.unused.map(\.name) == ["lm_head.weight"])
        #expect(
            model.unused.map(\.reason) == ["equal to model.embed_tokens.weight, which is used in its place"])
    }
}
