import AccelByteIO

/// An architecture of llama.cpp: its name, and the names of a family's tensors in GGUF files.
struct GGUFArchitecture: Sendable {
    /// The family of accelc, which is the `model_type` of config.json.
    let family: String
    /// The value of `general.architecture`, and the prefix of keys.
    let name: String
    /// The prefix of the base model's names in checkpoints of models with a head.
    let prefix: String
    /// The name of the list of layers.
    let layers: String
    /// Modules outside of layers: names in the base model, and in GGUF.
    let modules: [(own: String, gguf: String)]
    /// Modules of a layer.
    let parts: [(own: String, gguf: String)]
    /// Modules of a layer that may have a bias; nil for all.
    var biases: Set<String>? = []
    /// llama.cpp rotates neighbours, where the checkpoint rotates halves of a head: rows of queries and keys are in another order.
    var rotatesNeighbours = false
    /// Files store the gains of norms, and checkpoints the gains minus 1.
    var storesWholeGains = false
    /// Each head has as many rows as the width has for it, so that a checkpoint's `head_dim` is none of its own.
    var dividesWidth = false
    /// The word embeddings are the head in any case.
    var tiesHead = false
    /// Modules that checkpoints store transposed.
    var transposed: Set<String> = []
    /// Matrices that llama.cpp reads as float32 only.
    var floatModules: Set<String> = []

    /// The prefix of names in checkpoints of the class that a file is read as: the bare model for BERT.
    private var ownPrefix: String { name == "bert" ? "" : prefix }

    /// The head: its module in checkpoints, outside of the base model, and in GGUF.
    static let head = (own: "lm_head", gguf: "output")
    /// The name of layers in GGUF.
    private static let block = "blk"

    /// The architectures with a family of accelc. Of those with one name the first is the usual one.
    static let all: [GGUFArchitecture] = [
        decoder("llama", biases: nil, rotatesNeighbours: true),
        decoder("mistral", as: "llama", rotatesNeighbours: true),
        decoder("qwen2", biases: ["attn_q", "attn_k", "attn_v"], dividesWidth: true),
        decoder("qwen3", biases: ["attn_q", "attn_k", "attn_v"]),
        decoder(
            "phi3",
            parts: [("self_attn.qkv_proj", "attn_qkv"), ("mlp.gate_up_proj", "ffn_up")] + usualNorms + outputs,
            dividesWidth: true),
        decoder("gemma", storesWholeGains: true, tiesHead: true),
        decoder(
            "gemma3_text", as: "gemma3",
            parts: projections + outputs + [
                ("input_layernorm", "attn_norm"), ("post_attention_layernorm", "post_attention_norm"),
                ("pre_feedforward_layernorm", "ffn_norm"), ("post_feedforward_layernorm", "post_ffw_norm"),
                ("self_attn.q_norm", "attn_q_norm"), ("self_attn.k_norm", "attn_k_norm"),
            ], storesWholeGains: true, tiesHead: true),
        GGUFArchitecture(
            family: "gpt2", name: "gpt2", prefix: "transformer.", layers: "h",
            modules: [("wte", "token_embd"), ("wpe", "position_embd"), ("ln_f", "output_norm")],
            parts: [
                ("ln_1", "attn_norm"), ("attn.c_attn", "attn_qkv"), ("attn.c_proj", "attn_output"),
                ("ln_2", "ffn_norm"),
                ("mlp.c_fc", "ffn_up"), ("mlp.c_proj", "ffn_down"),
            ], biases: nil, transposed: ["attn_qkv", "attn_output", "ffn_up", "ffn_down"],
            floatModules: ["position_embd"]),
        GGUFArchitecture(
            family: "bert", name: "bert", prefix: "bert.", layers: "encoder.layer",
            modules: [
                ("embeddings.word_embeddings", "token_embd"), ("embeddings.token_type_embeddings", "token_types"),
                ("embeddings.position_embeddings", "position_embd"), ("embeddings.LayerNorm", "token_embd_norm"),
            ],
            parts: [
                ("attention.self.query", "attn_q"), ("attention.self.key", "attn_k"),
                ("attention.self.value", "attn_v"),
                ("attention.output.dense", "attn_output"), ("attention.output.LayerNorm", "attn_output_norm"),
                ("intermediate.dense", "ffn_up"), ("output.dense", "ffn_down"),
                ("output.LayerNorm", "layer_output_norm"),
            ], biases: nil, floatModules: ["token_types", "position_embd"]),
    ]

    private static let projections = [
        ("self_attn.q_proj", "attn_q"), ("self_attn.k_proj", "attn_k"), ("self_attn.v_proj", "attn_v"),
        ("mlp.gate_proj", "ffn_gate"), ("mlp.up_proj", "ffn_up"),
    ].map { (own: $0.0, gguf: $0.1) }
    private static let outputs = [("self_attn.o_proj", "attn_output"), ("mlp.down_proj", "ffn_down")].map {
        (own: $0.0, gguf: $0.1)
    }
    private static let usualNorms = [("input_layernorm", "attn_norm"), ("post_attention_layernorm", "ffn_norm")].map {
        (own: $0.0, gguf: $0.1)
    }
    private static let usualParts =
        projections + outputs + usualNorms + [("self_attn.q_norm", "attn_q_norm"), ("self_attn.k_norm", "attn_k_norm")]

    private static func decoder(
        _ family: String, as name: String? = nil, parts: [(own: String, gguf: String)] = usualParts,
        biases: Set<String>? = [], rotatesNeighbours: Bool = false, storesWholeGains: Bool = false,
        dividesWidth: Bool = false, tiesHead: Bool = false
    ) -> GGUFArchitecture {
        GGUFArchitecture(
            family: family, name: name ?? family, prefix: "model.", layers: "layers",
            modules: [("embed_tokens", "token_embd"), ("norm", "output_norm")], parts: parts, biases: biases,
            rotatesNeighbours: rotatesNeighbours, storesWholeGains: storesWholeGains, dividesWidth: dividesWidth,
            tiesHead: tiesHead)
    }

    /// Returns the number by whose root llama.cpp divides the queries of gemma3. A model of 62 layers (27B) has another than its heads'
    /// width.
    static func gemma3QueryScalar(layers: Int, width: Int, heads: Int, headWidth: Int) -> Int {
        layers == 62 ? width / heads : headWidth
    }

    /// Returns the architecture of a family.
    /// - Throws: `RequestError` with the known families.
    static func family(_ family: String) throws -> GGUFArchitecture {
        if let found = all.first(where: { $0.family == family }) { return found }
        throw RequestError(
            "GGUF: llama.cpp has no architecture for the family \(quoted(family)) that accelc can write (there is "
                + "\(all.map(\.family).joined(separator: ", ")))", code: .familyUnsupported,
            candidates: [family == "whisper" ? WhisperCPPExporter.name : CoreMLExporter.name])
    }
}

extension GGUFArchitecture {
    /// A module of the model: its layer, if it is part of one, and its name in GGUF.
    struct Module: Equatable {
        let layer: Int?
        let gguf: String
    }

    /// Returns whether llama.cpp computes with a bias of a module that the family has too.
    func mayHaveBias(_ module: Module) -> Bool {
        if module.layer == nil, module.gguf == Self.head.gguf { return false }
        return biases?.contains(module.gguf) ?? true
    }

    /// Returns the module of a checkpoint's tensor, and the word after it, `weight` or `bias`; nil if llama.cpp reads no such
    /// tensor.
    func module(of tensor: String) -> (module: Module, suffix: String)? {
        let words = ["gamma": "weight", "beta": "bias"]
        guard let dot = tensor.lastIndex(of: ".") else { return nil }
        let last = String(tensor[tensor.index(after: dot)...])
        let suffix = words[last] ?? last
        guard ["weight", "bias"].contains(suffix) else { return nil }
        var path = String(tensor[..<dot])
        if path == Self.head.own { return (Module(layer: nil, gguf: Self.head.gguf), suffix) }
        if path.hasPrefix(prefix) { path.removeFirst(prefix.count) }
        if let known = modules.first(where: { $0.own == path }) {
            return (Module(layer: nil, gguf: known.gguf), suffix)
        }
        guard path.hasPrefix("\(layers).") else { return nil }
        let rest = path.dropFirst(layers.count + 1).split(separator: ".", maxSplits: 1)
        guard rest.count == 2, let layer = Int(rest[0]), "\(layer)" == rest[0], layer >= 0,
            let known = parts.first(where: { $0.own == rest[1] })
        else { return nil }
        return (Module(layer: layer, gguf: known.gguf), suffix)
    }

    /// Returns the name of a module's tensor in GGUF files.
    func name(_ module: Module, _ suffix: String) -> String {
        (module.layer.map { "\(Self.block).\($0)." } ?? "") + "\(module.gguf).\(suffix)"
    }

    /// Returns the module of a tensor in a GGUF file, and its name in the checkpoint; nil if the architecture has none.
    func tensor(named name: String) -> (module: Module, own: String)? {
        guard let dot = name.lastIndex(of: ".") else { return nil }
        let suffix = name[name.index(after: dot)...]
        let path = name[..<dot]
        guard ["weight", "bias"].contains(suffix) else { return nil }
        if path == Self.head.gguf { return (Module(layer: nil, gguf: Self.head.gguf), "\(Self.head.own).\(suffix)") }
        if let known = modules.first(where: { $0.gguf == path }) {
            return (Module(layer: nil, gguf: known.gguf), "\(ownPrefix)\(known.own).\(suffix)")
        }
        let words = path.split(separator: ".", maxSplits: 2)
        guard words.count == 3, words[0] == Self.block, let layer = Int(words[1]), "\(layer)" == words[1], layer >= 0,
            let known = parts.first(where: { $0.gguf == words[2] })
        else { return nil }
        return (Module(layer: layer, gguf: known.gguf), "\(ownPrefix)\(layers).\(layer).\(known.own).\(suffix)")
    }
}
