import AccelByteIO
import AccelModelFamilies

/// The keys of GGUF files that change nothing: in any case, or with one value. `GGUFConfiguration` reads all others, and those that are
/// neither read nor listed are rejected. `scripts/peers/gguf_keys.py` compares each key with libllama.
enum GGUFKeys {
    /// A key that is supported with these values only.
    struct Constant {
        let key: String
        let values: [JSON]
        /// The meaning of any other value.
        let meaning: String

        init(_ key: String, _ values: JSON..., meaning: String) {
            (self.key, self.values, self.meaning) = (key, values, meaning)
        }
    }

    private static let rotary: Set<String> = ["llama", "qwen2", "qwen3", "phi3", "gemma", "gemma3"]

    /// The keys of an architecture that are supported with some values only.
    static func constants(of architecture: String) -> [Constant] {
        let isEncoder = architecture == "bert"
        var list = [
            Constant("general.type", "model", meaning: "the file is not a model"),
            Constant(
                "attention.causal", .bool(!isEncoder),
                meaning: isEncoder ? "causal attention" : "attention to later tokens"),
            Constant("expert_count", 0, meaning: "experts"),
            Constant("expert_used_count", 0, meaning: "experts"),
            Constant("expert_group_count", 0, meaning: "experts"),
            Constant("expert_group_used_count", 0, meaning: "experts"),
            Constant("nextn_predict_layers", 0, meaning: "layers that predict further tokens"),
        ]
        if !isEncoder { list.append(Constant("pooling_type", 0, meaning: "sentence embeddings of a decoder")) }
        if rotary.contains(architecture) {
            // llama.cpp reads them in other architectures only, and computes with these values here.
            list += [
                Constant("rope.scaling.yarn_ext_factor", -1, 1, meaning: "another share of extrapolation than 1"),
                Constant("rope.scaling.yarn_attn_factor", 1, meaning: "another factor than the one of the scaling"),
                Constant("rope.scaling.yarn_beta_fast", 32, meaning: "llama.cpp's \(architecture) computes with 32"),
                Constant("rope.scaling.yarn_beta_slow", 1, meaning: "llama.cpp's \(architecture) computes with 1"),
                Constant("rope.scaling.yarn_log_multiplier", 0, meaning: "another factor than the one of the scaling"),
            ]
        }
        return list.map { entry in
            let key = entry.key.hasPrefix("general.") ? entry.key : "\(architecture).\(entry.key)"
            return Constant(key, entry.values, entry.meaning)
        }
    }

    /// The keys without effect on an architecture's graph.
    static func inert(in architecture: String) -> [InertFields] {
        let usesMeans = ["gpt2", "bert"].contains(architecture)
        var names = ["tensor_data_layout", "attention.\(usesMeans ? "layer_norm_rms_epsilon" : "layer_norm_epsilon")"]
        if rotary.contains(architecture) { names.append("rope.scaling.finetuned") }
        if architecture == "bert" { names.append("classifier.output_labels") }
        let own = InertFields("llama.cpp does not compute with it here", names.map { "\(architecture).\($0)" })
        return global + [own]
    }

    private static let global = [
        InertFields("describes the file, its origin, or the choice of tokens", ["general.*"]),
        InertFields("belongs to the tokenizer", ["tokenizer.*"]),
        InertFields("says which part of the model a file holds, and is checked when files are opened", ["split.*"]),
        InertFields("says how weights were quantized", ["quantize.*"]),
        InertFields(
            "origin of an export, or types and schemes of weights, which are read with the weights", ["accelc.*"]),
    ]

    /// The first words of keys that llama.cpp reads, and of architectures.
    private static let namespaces = Set(GGUFArchitecture.all.map(\.name)).union([
        "general", "tokenizer", "split", "quantize", "accelc", "adapter", "xielu", "clip", "diffusion", "imatrix",
        "training",
    ])

    /// Returns whether a key belongs to the tool that wrote the file: llama.cpp reads no keys of this name.
    static func isForeign(_ key: String) -> Bool {
        !namespaces.contains(key.prefix { $0 != "." }.description)
    }
}

extension GGUFKeys.Constant {
    fileprivate init(_ key: String, _ values: [JSON], _ meaning: String) {
        (self.key, self.values, self.meaning) = (key, values, meaning)
    }
}
