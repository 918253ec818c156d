import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

/// Configurations that say one thing twice, or in an old or odd way. `scripts/peers/configurations.py` compares the same
/// cases with transformers.
@Suite("Ambiguous configurations")
struct AmbiguousConfigurationTests {
    /// Two ways to write one configuration.
    struct Pair: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let fixture: String
        let odd: [(String, JSON?)]
        let plain: [(String, JSON?)]

        init(_ description: String, _ fixture: String, _ odd: [(String, JSON?)], same plain: [(String, JSON?)]) {
            (testDescription, self.fixture, self.odd, self.plain) = (description, fixture, odd, plain)
        }
    }
    private static let scaling: JSON = ["rope_type": "linear", "factor": 2]
    private static let linear: JSON = ["rope_type": "linear", "factor": 2, "rope_theta": 10_000]
    private static let text: JSON = [
        "hidden_size": 30, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 3, "vocab_size": 61,
        "max_position_embeddings": 9, "eos_token_id": 41,
    ]

    static let pairs = [
        Pair(
            "text_config_dict of CLIP counts alone", "clip_end",
            [("text_config", ["hidden_act": "relu", "layer_norm_eps": 0.5]), ("text_config_dict", text)],
            same: [("text_config", text)]),
        Pair(
            "what text_config_dict does not say has its default", "clip_end",
            [("text_config_dict", text), ("projection_dim", 20)], same: []),
        Pair("a dict that is null is no dict", "clip_end", [("vision_config_dict", .null)], same: []),
        Pair(
            "rope_scaling counts before rope_parameters", "llama_yarn",
            [("rope_scaling", scaling)], same: [("rope_parameters", linear)]),
        Pair(
            "an empty rope_scaling does not", "llama_yarn",
            [("rope_scaling", [:]), ("rope_parameters", linear)], same: [("rope_parameters", linear)]),
        Pair(
            "the base in rope_parameters counts before the one beside it", "llama_yarn",
            [("rope_theta", 5), ("rope_parameters", linear)], same: [("rope_parameters", linear)]),
        Pair(
            "rope_type counts before type", "llama_yarn",
            [("rope_parameters", ["type": "dynamic", "rope_type": "linear", "factor": 2])],
            same: [("rope_parameters", linear)]),
        Pair(
            "Llama rotates whole heads", "llama_linear_old",
            [("rope_scaling", nil), ("partial_rotary_factor", 0.5)], same: [("rope_scaling", nil)]),
        Pair(
            "fields of Gemma 3's rope_scaling count before those of full_attention", "gemma3_old",
            [
                (
                    "rope_parameters",
                    [
                        "full_attention": ["rope_type": "linear", "factor": 9, "rope_theta": 40_000],
                        "sliding_attention": ["rope_type": "default", "rope_theta": 800],
                    ]
                ), ("rope_scaling", ["factor": 2]), ("rope_theta", 1), ("rope_local_base_freq", 1),
            ], same: []),
        Pair(
            "layer_types counts before the pattern", "gemma3_old", [("sliding_window_pattern", 2)], same: []),
        Pair(
            "an old name of full attention", "qwen2_window", [("layer_types", ["attention", "sliding_attention"])],
            same: [("layer_types", ["full_attention", "sliding_attention"])]),
        Pair("key heads of null are all heads", "llama_linear_old", [("num_key_value_heads", .null)], same: []),
        Pair(
            "Gemma's early gelu is the one by tanh", "gemma_early", [("hidden_act", "gelu")],
            same: [("hidden_act", "gelu_pytorch_tanh")]),
        Pair("the names of all models, for DistilBERT", "distilbert_model", [("hidden_size", 24)], same: []),
        Pair(
            "truncate in the object of a layer type has no effect", "gemma3_old",
            [("rope_parameters", yarn(inside: false, beside: nil)), ("rope_scaling", .null)],
            same: [("rope_parameters", yarn(inside: nil, beside: nil)), ("rope_scaling", .null)]),
    ]

    /// Gemma 3's rotary embeddings with yarn in layers of full attention, with `truncate` in their object, or beside it.
    private static func yarn(inside: Bool?, beside: Bool?) -> JSON {
        func truncating(_ members: [JSON.Member], _ value: Bool?) -> JSON {
            .object(members + (value.map { [JSON.Member("truncate", .bool($0))] } ?? []))
        }
        let full = truncating(
            [
                .init("rope_type", "yarn"), .init("factor", 4), .init("rope_theta", 900),
                .init("original_max_position_embeddings", 100),
            ], inside)
        return truncating(
            [
                .init("full_attention", full),
                .init("sliding_attention", ["rope_type": "default", "rope_theta": 800]),
            ], beside)
    }

    @Test("truncate beside the objects of layer types has an effect")
    func truncation() throws {
        let model = try LawModel("gemma3_old")
        func outcome(_ beside: Bool?) throws -> [String] {
            guard case .object(let members) = model.root else { return [] }
            let kept = members.filter { !["rope_parameters", "rope_scaling"].contains($0.key) }
            return try model.outcome(.object(kept + [.init("rope_parameters", Self.yarn(inside: nil, beside: beside))]))
        }
        #expect(try outcome(true) == outcome(nil))
        #expect(try outcome(false) != outcome(nil))
    }

    @Test("Whisper's convolutions use gelu, and its layers what the configuration says")
    func whisperActivations() throws {
        let model = try LawModel("whisper_small")
        guard case .object(let members) = model.root else { return }
        let kept = members.filter { $0.key != "activation_function" }
        let checkpoint = model.checkpoint(.object(kept + [.init("activation_function", "relu")]))
        let programs = try model.family.model(for: checkpoint, parts: ["encoder", "decoder"]).programs
        func count(_ program: Program, _ name: String) -> Int {
            program.nodes.count { type(of: $0.operation).name == name }
        }
        let layers = try checkpoint.configuration["encoder_layers"].int()
        #expect(count(programs[0], Gelu.name) == 2 && count(programs[0], Relu.name) == layers)
        #expect(count(programs[1], Gelu.name) == 0)
    }

    @Test("say the same as plain ones", arguments: pairs)
    func sameProgram(pair: Pair) throws {
        let model = try LawModel(pair.fixture)
        func root(_ fields: [(String, JSON?)]) -> JSON {
            guard case .object(var members) = model.root else { return model.root }
            for (key, value) in fields {
                members.removeAll { $0.key == key }
                if let value { members.append(JSON.Member(key, value)) }
            }
            return .object(members)
        }
        #expect(try model.outcome(root(pair.odd)) == model.outcome(root(pair.plain)))
    }

    static let rejections: [(fixture: String, fields: [(String, JSON?)], sentence: String)] = [
        (
            "llama_yarn", [("rope_scaling", "linear")],
            "config.json, field rope_scaling: expected an object, found a string"
        ),
        (
            "clip_end", [("vision_config", 3)], "config.json, field vision_config: expected an object, found an integer"
        ),
        (
            "llama_linear_old", [("partial_rotary_factor", 0.5)],
            "config.json, field partial_rotary_factor: the model rotates whole heads, and cannot rotate 0.5 of each by \"linear\""
        ),
        (
            "gemma3_old", [("rope_scaling", nil), ("rope_parameters", ["rope_type": "linear", "factor": 8])],
            "config.json, field rope_parameters.rope_type: this value is not supported"
        ),
        (
            "gemma3_old", [("rope_scaling", ["type": "linear", "factor": 8])],
            "config.json, field rope_scaling.type: frameworks before version 5 read this, later ones rope_type: rename it"
        ),
        (
            "phi3_partial", [("rope_parameters", ["rope_type": "linear", "factor": 2])],
            "config.json, field rope_parameters.rope_type: rotary embeddings of type \"linear\" are not supported "
                + "(supported: default, longrope)"
        ),
        (
            "phi3_long", [("original_max_position_embeddings", nil)],
            "config.json, field rope_parameters.original_max_position_embeddings: the framework takes 4096, unless "
                + "original_max_position_embeddings stands outside too"
        ),
        (
            "qwen2_window", [("rope_parameters", ["full_attention": ["rope_type": "default"]])],
            "config.json, field rope_parameters.full_attention: this value is not supported"
        ),
        (
            "modernbert_model",
            [("layer_types", ["full_attention", "chunked_attention", "full_attention", "full_attention"])],
            "config.json, field layer_types[1]: layers of type \"chunked_attention\" are not supported (supported: "
                + "full_attention, sliding_attention)"
        ),
        (
            "modernbert_seqcls", [("classifier_pooling", "max")],
            "config.json, field classifier_pooling: expected \"cls\" or \"mean\", found \"max\""
        ),
        (
            "whisper_small", [("num_attention_heads", 7)],
            "config.json, field num_attention_heads: differs from encoder_attention_heads, which is another name for it: "
                + "remove one"
        ),
        (
            "wav2vec2_odd", [("num_feat_extract_layers", 9)],
            "config.json, field num_feat_extract_layers: expected 3, as many as conv_dim has numbers"
        ),
        (
            "mistral_window", [("attention_bias", true)],
            "config.json, field attention_bias: a bias in these layers of the model is not supported"
        ),
    ]

    @Test("that cannot be read one way are rejected in one sentence", arguments: rejections.indices)
    func rejects(index: Int) throws {
        let rejection = Self.rejections[index]
        var checkpoint = try ChangedCheckpoint(rejection.fixture)
        for (field, value) in rejection.fields { checkpoint.set(field, value) }
        #expect(checkpoint.rejection()?.trimmingPrefix(", ") == rejection.sentence[...])
    }
}
