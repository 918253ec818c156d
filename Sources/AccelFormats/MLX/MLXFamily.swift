import AccelByteIO

/// The fields of config.json and the tensors that a model class of mlx-lm reads.
struct MLXFamily: Sendable {
    /// How a class computes logits.
    enum Head: Sendable {
        /// As `tie_word_embeddings` states.
        case configured
        /// From the word embeddings in any case.
        case tied
    }

    /// The family of accelc, which is the `model_type` of config.json.
    let name: String
    /// Fields without a default, or with another one than transformers has.
    let required: [String]
    /// The modules of a layer that may have a bias.
    var biases: Set<String> = []
    /// The kinds of rotary embeddings.
    var rotary: Set<String> = MLXFamily.rotary
    var head = Head.configured
    /// Whether `partial_rotary_factor` counts for rotary embeddings of any kind.
    var rotatesParts = false
    /// Whether some layers have a sliding window, by `sliding_window_pattern`.
    var hasWindows = false
    /// The names of tensors in the class.
    var names = MLXNames.usual
    /// Tensors of parts that have to be exported together, by their names in the base model.
    var needed: [String] = []
    /// The name of a head of its own.
    var ownHead = MLXFamily.head
    /// The class reads one file of weights, whatever its size.
    var isOneFile = false

    private static let sizes = [
        "hidden_size", "num_hidden_layers", "intermediate_size", "num_attention_heads", "rms_norm_eps", "vocab_size",
    ]
    /// The kinds that `initialize_rope` knows.
    private static let rotary: Set<String> = ["default", "linear", "dynamic", "llama3", "yarn", "proportional"]
    private static let projections: Set<String> = ["q_proj", "k_proj", "v_proj"]

    /// The families with a class in mlx-lm and in mlx-swift.
    static let all: [MLXFamily] = [
        MLXFamily(
            name: "llama", required: sizes,
            biases: projections.union(["o_proj", "gate_proj", "up_proj", "down_proj"])),
        // mlx-lm reads it as llama.
        MLXFamily(name: "mistral", required: sizes),
        MLXFamily(name: "qwen2", required: sizes + ["num_key_value_heads"], biases: projections),
        MLXFamily(
            name: "qwen3", required: sizes + ["num_key_value_heads", "head_dim", "max_position_embeddings"]),
        MLXFamily(name: "phi3", required: sizes, rotary: ["default", "longrope", "su"], rotatesParts: true),
        MLXFamily(
            name: "gemma", required: sizes + ["num_key_value_heads", "head_dim"], rotary: ["default"], head: .tied),
        MLXFamily(name: "gemma3_text", required: [], rotary: ["default", "linear"], hasWindows: true),
        MLXFamily(
            name: "gpt2", required: [], biases: ["ln_1", "ln_2", "ln_f", "c_attn", "c_proj", "c_fc"], head: .tied,
            names: MLXNames(
                prefix: ("transformer.", "model."), restoresPrefix: false, outer: ["lm_head"],
                transposed: ["attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight"])),
        MLXWhisper.family,
    ]

    /// Returns a family by its name in accelc.
    /// - Throws: `RequestError` with the known families.
    static func named(_ name: String) throws -> MLXFamily {
        if let family = all.first(where: { $0.name == name }) { return family }
        throw RequestError(
            "MLX: mlx-lm has no class for the family \(quoted(name)) that accelc can write (there is "
                + "\(all.map(\.name).joined(separator: ", ")))", code: .familyUnsupported,
            candidates: [CoreMLExporter.name])
    }

    /// The name of a head of its own.
    static let head = "lm_head.weight"

    /// Checks that the class has the given tensors.
    /// - Parameter names: the names in the class.
    func check(_ names: [String]) throws {
        if let missing = needed.first(where: { self.names.place(of: $0).map { !names.contains($0.name) } ?? false }) {
            throw RequestError(
                "MLX: \(name) has all its parts in one folder, but the request leaves out \(missing): export all parts")
        }
        if name == MLXWhisper.family.name { return }
        for name in names where name.hasSuffix(".bias") {
            let module = name.split(separator: ".").dropLast().last.map(String.init) ?? ""
            guard biases.contains(module) else {
                throw RequestError("MLX: mlx-lm's \(self.name) has no bias in \(module), but the model has \(name)")
            }
        }
        let queries = names.filter { $0.hasSuffix("q_proj.weight") }
        if name == "qwen2", let query = queries.first(where: { !names.contains(Self.bias(of: $0)) }) {
            throw RequestError("MLX: mlx-lm's qwen2 needs \(Self.bias(of: query)), which the model lacks")
        }
    }

    private static func bias(of weight: String) -> String { weight.dropLast("weight".count) + "bias" }
}
