import AccelByteIO
import AccelPackages
import AccelTensors

/// The keys of an architecture that a model's configuration gives, with the tensors of rotary factors.
struct GGUFSettings {
    private(set) var metadata: [(key: String, value: GGUFValue)] = []
    private(set) var tensors: [GGUFTensor] = []
    /// The computations in which llama.cpp differs from the model, a sentence each.
    private(set) var remarks: [String] = []
    let heads: Int
    let keyHeads: Int
    let vocabulary: Int

    private let architecture: GGUFArchitecture
    private let field: JSONField

    static let fileName = "config.json"

    /// Reads a model's configuration.
    /// - Throws: `RequestError` for a property that the architecture does not support; `FormatError`.
    init(of assets: [Asset], for architecture: GGUFArchitecture) throws {
        guard let asset = assets.first(where: { $0.name == Self.fileName }) else {
            throw RequestError("GGUF: the model has no \(Self.fileName), which gives the file's keys")
        }
        field = JSONField(try JSON.parse(asset.content, file: Self.fileName), file: Self.fileName)
        self.architecture = architecture
        let isGPT = architecture.name == "gpt2"
        heads = try Self.integer(field, isGPT ? "n_head" : "num_attention_heads", architecture)
        keyHeads =
            try field["num_key_value_heads"].exists ? field["num_key_value_heads"].int(in: 1...1 << 16) : heads
        vocabulary = try Self.integer(field, "vocab_size", architecture)
        add("vocab_size", count: vocabulary)
        switch architecture.name {
        case "gpt2": try addGPT()
        case "bert": try addBert(assets)
        default: try addDecoder()
        }
    }

    // MARK: - Values

    private static func integer(_ field: JSONField, _ key: String, _ architecture: GGUFArchitecture) throws -> Int {
        guard field[key].exists else {
            throw RequestError(
                "GGUF: llama.cpp's \(architecture.name) needs the field \(key), which \(fileName) lacks")
        }
        return try field[key].int(in: 1...1 << 30)
    }

    private func integer(_ key: String) throws -> Int { try Self.integer(field, key, architecture) }

    private mutating func add(_ key: String, _ value: GGUFValue) {
        metadata.append(("\(architecture.name).\(key)", value))
    }
    private mutating func add(_ key: String, count: Int) { add(key, .uint32(UInt32(clamping: count))) }
    private mutating func add(_ key: String, real: Double) { add(key, .float32(Float(real))) }

    private func unsupported(_ field: JSONField, _ reason: String) -> RequestError {
        RequestError(
            "GGUF: llama.cpp's \(architecture.name) \(reason): the field \(field.path) of \(Self.fileName) asks for it")
    }

    private func requireClass(_ isSupported: (String) -> Bool, _ reason: String) throws {
        let classes = field["architectures"]
        guard classes.exists, let name = try classes.array().first?.string(), !isSupported(name) else { return }
        throw unsupported(classes, reason)
    }

    private func requireActivation(_ key: String, among names: Set<String>, default other: String) throws -> String {
        let name = try field[key].exists ? field[key].string() : other
        guard names.contains(name) else { throw unsupported(field[key], "has no activation \(quoted(name)) here") }
        return name
    }

    // MARK: - Decoders

    private mutating func addDecoder() throws {
        try requireClass({ $0.hasSuffix("ForCausalLM") }, "computes logits, and the model has no head")
        let isGemma = architecture.storesWholeGains
        if isGemma {
            let key = field["hidden_activation"].exists ? "hidden_activation" : "hidden_act"
            let names: Set<String> = key == "hidden_act" ? ["gelu", "gelu_pytorch_tanh"] : ["gelu_pytorch_tanh"]
            _ = try requireActivation(key, among: names, default: "gelu_pytorch_tanh")
        } else {
            _ = try requireActivation("hidden_act", among: ["silu", "swish"], default: "silu")
        }
        let width = try integer("hidden_size")
        let headWidth = try field["head_dim"].exists || width % heads != 0 ? integer("head_dim") : width / heads
        guard !architecture.dividesWidth || headWidth * heads == width else {
            throw unsupported(field["head_dim"], "has heads of \(width / heads) dimensions, not of \(headWidth)")
        }
        add("context_length", count: try integer("max_position_embeddings"))
        add("embedding_length", count: width)
        add("block_count", count: try integer("num_hidden_layers"))
        add("feed_forward_length", count: try integer("intermediate_size"))
        add("attention.head_count", count: heads)
        add("attention.head_count_kv", count: keyHeads)
        add("attention.key_length", count: headWidth)
        add("attention.value_length", count: headWidth)
        guard field["rms_norm_eps"].exists else { _ = try integer("rms_norm_eps"); return }
        add("attention.layer_norm_rms_epsilon", real: try field["rms_norm_eps"].double())
        if architecture.name == "gemma3" { try addScaleAndCap(headWidth) }
        try addWindows()
        try addRotary(headWidth)
    }

    private mutating func addScaleAndCap(_ headWidth: Int) throws {
        let scalar = field["query_pre_attn_scalar"]
        let divisor = GGUFArchitecture.gemma3QueryScalar(
            layers: try integer("num_hidden_layers"), width: try integer("hidden_size"), heads: heads,
            headWidth: headWidth)
        guard try (scalar.exists ? scalar.double() : 256) == Double(divisor) else {
            throw unsupported(scalar, "divides queries by the root of \(divisor)")
        }
        if field["attn_logit_softcapping"].exists {
            throw unsupported(field["attn_logit_softcapping"], "has no cap of attention scores")
        }
        if field["final_logit_softcapping"].exists {
            add("final_logit_softcapping", real: try field["final_logit_softcapping"].double())
        }
    }

    /// Adds the window and its layers. llama.cpp has windows in gemma3 only; for others the keys only describe the model.
    private mutating func addWindows() throws {
        let isUsed = try field["use_sliding_window"].exists ? field["use_sliding_window"].bool() : true
        guard isUsed, field["sliding_window"].exists else { return }
        let (window, layers) = (try field["sliding_window"].int(in: 1...1 << 30), try integer("num_hidden_layers"))
        var isWindowed = [Bool](repeating: true, count: layers)
        if field["layer_types"].exists {
            isWindowed = try field["layer_types"].array().map { try $0.string() == "sliding_attention" }
        } else if architecture.name == "gemma3" {
            let pattern = try field["sliding_window_pattern"].exists ? integer("sliding_window_pattern") : 6
            isWindowed = (0..<layers).map { ($0 + 1) % pattern != 0 }
        } else if field["max_window_layers"].exists, architecture.family.hasPrefix("qwen") {
            let first = try field["max_window_layers"].int(in: 0...1 << 30)
            isWindowed = (0..<layers).map { $0 >= first }
        }
        guard isWindowed.contains(true) else { return }
        add("attention.sliding_window", count: window)
        if isWindowed.contains(false) || architecture.name == "gemma3" {
            add("attention.sliding_window_pattern", .array(.bool, isWindowed.map { .bool($0) }))
        }
        let longest = try integer("max_position_embeddings")
        guard architecture.name != "gemma3", window < longest else { return }
        remarks.append(
            "llama.cpp's \(architecture.name) has no sliding window: beyond \(window) positions it attends to more than "
                + "the model")
    }

    // MARK: - Rotary embeddings

    private mutating func addRotary(_ headWidth: Int) throws {
        var parameters = field["rope_parameters"]
        var local = field["rope_local_base_freq"]
        if parameters["full_attention"].exists {
            let windowed = parameters["sliding_attention"]
            if try windowed["rope_type"].exists && windowed["rope_type"].string() != "default" {
                throw unsupported(windowed["rope_type"], "scales rotary embeddings of layers without windows only")
            }
            local = windowed["rope_theta"]
            parameters = parameters["full_attention"]
        }
        let scaling = field["rope_scaling"].exists ? field["rope_scaling"] : parameters
        let base = parameters["rope_theta"].exists ? parameters["rope_theta"] : field["rope_theta"]
        let theta = try base.exists ? base.double() : architecture.name == "gemma3" ? 1_000_000 : 10_000
        let name = scaling["rope_type"].exists ? scaling["rope_type"] : scaling["type"]
        let kind = try name.exists ? name.string() : "default"
        let width = try rotatedWidth(headWidth, parameters, scaling)
        add("rope.dimension_count", count: width)
        add("rope.freq_base", real: theta)
        if architecture.name == "gemma3" { add("rope.freq_base_swa", real: try local.exists ? local.double() : 10_000) }
        switch kind {
        case "default": break
        case "linear":
            add("rope.scaling.type", .string(kind))
            add("rope.scaling.factor", real: try scaling["factor"].double())
        case "yarn": try addYarn(scaling)
        case "llama3" where architecture.rotatesNeighbours:
            tensors.append(
                factors("rope_freqs.weight", try GGUFRotary.llama3(scaling, field, theta: theta, width: width)))
            // llama.cpp does not read it here; it records for readers how the factors were computed.
            let original = field["original_max_position_embeddings"]
            let inside = scaling["original_max_position_embeddings"]
            add("rope.scaling.original_context_length", count: try (original.exists ? original : inside).int())
        case "longrope" where architecture.name == "phi3", "su" where architecture.name == "phi3":
            try addLongRotary(scaling, pairs: width / 2)
        default: throw unsupported(name, "has no rotary embeddings of the kind \(quoted(kind))")
        }
    }

    private func rotatedWidth(_ headWidth: Int, _ parameters: JSONField, _ scaling: JSONField) throws -> Int {
        let fields = [
            scaling["partial_rotary_factor"], parameters["partial_rotary_factor"], field["partial_rotary_factor"],
        ]
        guard architecture.name == "phi3", let share = fields.first(where: \.exists) else { return headWidth }
        let width = Int(Double(headWidth) * min(max(try share.double(), 0), 1))
        guard width % 2 == 0, width > 0 else {
            throw unsupported(share, "rotates an even number of a head's dimensions, not \(width) of \(headWidth)")
        }
        return width
    }

    private mutating func addYarn(_ scaling: JSONField) throws {
        for key in ["attention_factor", "mscale", "mscale_all_dim", "truncate"] where scaling[key].exists {
            throw unsupported(scaling[key], "has yarn without such a field")
        }
        add("rope.scaling.type", .string("yarn"))
        let original = scaling["original_max_position_embeddings"]
        let positions = try original.exists ? original.int(in: 1...1 << 30) : integer("max_position_embeddings")
        let factor = scaling["factor"]
        add(
            "rope.scaling.factor",
            real: try factor.exists
                ? factor.double() : Double(try integer("max_position_embeddings")) / Double(positions))
        add("rope.scaling.original_context_length", count: positions)
        for (key, only) in [("beta_fast", 32.0), ("beta_slow", 1)] where scaling[key].exists {
            guard try scaling[key].double() == only else {
                throw unsupported(scaling[key], "computes yarn with \(key) \(Int(only)), whatever the file says")
            }
            add("rope.scaling.yarn_\(key)", real: only)
        }
    }

    private mutating func addLongRotary(_ scaling: JSONField, pairs: Int) throws {
        let (outside, inside) = (
            field["original_max_position_embeddings"], scaling["original_max_position_embeddings"]
        )
        let original = try (outside.exists ? outside : inside).int(in: 1...1 << 30)
        add("rope.scaling.original_context_length", count: original)
        let given = scaling["attention_factor"]
        let growth = Double(try integer("max_position_embeddings")) / Double(original)
        add(
            "rope.scaling.attn_factor",
            real: try given.exists ? given.double() : GGUFRotary.longAttention(growth, original))
        for (key, name) in [("long_factor", "rope_factors_long"), ("short_factor", "rope_factors_short")] {
            let numbers = try scaling[key].array().map { Float(try $0.double()) }
            guard numbers.count == pairs else {
                throw scaling[key].error("expected \(pairs) numbers, found \(numbers.count)")
            }
            tensors.append(factors("\(name).weight", numbers))
        }
        remarks.append(
            "llama.cpp rotates by the long factors if its context is longer than \(original) positions, and else by the "
                + "short ones")
    }

    private func factors(_ name: String, _ numbers: [Float]) -> GGUFTensor {
        GGUFTensor(name: name, type: .float32, shape: [numbers.count], bytes: ByteView(numbers))
    }

    // MARK: - GPT-2 and BERT

    private mutating func addGPT() throws {
        try requireClass({ $0.hasSuffix("LMHeadModel") }, "computes logits, and the model has no head")
        _ = try requireActivation(
            "activation_function", among: ["gelu_new", "gelu_pytorch_tanh"], default: "gelu_new")
        let (scales, byLayer) = (field["scale_attn_weights"], field["scale_attn_by_inverse_layer_idx"])
        if try scales.exists && !scales.bool() { throw unsupported(scales, "scales attention scores") }
        if try byLayer.exists && byLayer.bool() { throw unsupported(byLayer, "scales all layers alike") }
        let width = try integer("n_embd")
        add("context_length", count: try integer("n_positions"))
        add("embedding_length", count: width)
        add("block_count", count: try integer("n_layer"))
        add("feed_forward_length", count: try field["n_inner"].exists ? integer("n_inner") : 4 * width)
        add("attention.head_count", count: heads)
        let epsilon = field["layer_norm_epsilon"]
        add("attention.layer_norm_epsilon", real: try epsilon.exists ? epsilon.double() : 1e-5)
    }

    private mutating func addBert(_ assets: [Asset]) throws {
        let pooling = try GGUFPooling(of: assets)
        if pooling == nil {
            try requireClass({ $0 == "BertModel" }, "returns hidden states, and the model has a head")
        }
        let activation = try requireActivation(
            "hidden_act", among: ["gelu", "gelu_new", "gelu_pytorch_tanh"], default: "gelu")
        if activation == "gelu" {
            remarks.append(
                "llama.cpp's bert computes gelu by its approximation with tanh, where the model computes it exactly")
        }
        add("context_length", count: try integer("max_position_embeddings"))
        add("embedding_length", count: try integer("hidden_size"))
        add("block_count", count: try integer("num_hidden_layers"))
        add("feed_forward_length", count: try integer("intermediate_size"))
        add("attention.head_count", count: heads)
        let epsilon = field["layer_norm_eps"]
        add("attention.layer_norm_epsilon", real: try epsilon.exists ? epsilon.double() : 1e-12)
        add("attention.causal", .bool(false))
        add("pooling_type", count: (pooling ?? .none).rawValue)
        if let normalises = try GGUFPooling.normalises(assets) {
            metadata.append((GGUFPooling.normalisationKey, .bool(normalises)))
        }
        let types = try field["type_vocab_size"].exists ? integer("type_vocab_size") : 2
        metadata.append(("tokenizer.ggml.token_type_count", .uint32(UInt32(clamping: types))))
        if types > 1 { remarks.append("llama.cpp's bert takes every token as one of type 0") }
    }
}
