import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// The config.json that stands for a GGUF file's keys, so that a family builds the model's programs.
struct GGUFConfiguration {
    let architecture: GGUFArchitecture
    var json: JSON { .object(members) }

    private let file: GGUFFile
    /// The tensors of all files of the model, by name.
    private let tensors: [String: GGUFTensor]
    private var members: [JSON.Member] = []

    /// - Parameter tensors: those of all files of the model, by name.
    /// - Throws: `RequestError` for an architecture that no family has; `FormatError` for missing or contradicting keys.
    init(of file: GGUFFile, _ tensors: [String: GGUFTensor]) throws {
        (self.file, self.tensors) = (file, tensors)
        guard case .string(let name)? = file["general.architecture"] else {
            throw FormatError(
                file: file.path, location: .field("general.architecture"),
                reason: "expected the name of an architecture")
        }
        let known = GGUFArchitecture.all.filter { $0.name == name }
        let isWindowed = file["\(name).attention.sliding_window"] != nil
        guard let found = isWindowed && name == "llama" ? known.last : known.first else {
            let names = GGUFArchitecture.all.map(\.name).reduce(into: [String]()) { names, name in
                if !names.contains(name) { names.append(name) }
            }
            throw RequestError(
                "\(file.path): no family of accelc has the architecture \(quoted(name)) (supported: "
                    + "\(names.joined(separator: ", ")))", status: .unavailable)
        }
        architecture = found
        let isDecoder = !["gpt2", "bert"].contains(name)
        set("model_type", .string(found.family))
        set("architectures", .array([.string(Self.classes[found.family] ?? "")]))
        set("vocab_size", .integer(Int64(try rows(of: "token_embd.weight"))))
        if name != "bert" { set("tie_word_embeddings", .bool(tensors["output.weight"] == nil)) }
        if isDecoder { try addDecoder() } else if name == "gpt2" { try addGPT() } else { try addBert() }
        if name != "bert" { try addStopTokens() }
    }

    private static let classes = [
        "llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM", "qwen2": "Qwen2ForCausalLM",
        "qwen3": "Qwen3ForCausalLM", "phi3": "Phi3ForCausalLM", "gemma": "GemmaForCausalLM",
        "gemma3_text": "Gemma3ForCausalLM", "gpt2": "GPT2LMHeadModel", "bert": "BertModel",
    ]

    // MARK: - Keys

    private mutating func set(_ key: String, _ value: JSON) { members.append(JSON.Member(key, value)) }

    /// A key of the architecture.
    private func field(_ key: String) -> JSONField {
        let name = "\(architecture.name).\(key)"
        return JSONField(file[name]?.json, file: file.path, path: name)
    }

    private mutating func take(_ key: String, as own: String) throws {
        set(own, .integer(Int64(try field(key).int(in: 1...1 << 30))))
    }

    private mutating func takeNumber(_ key: String, as own: String) throws {
        set(own, .number(try field(key).double()))
    }

    private func rows(of name: String) throws -> Int {
        guard let tensor = tensors[name], tensor.shape.rank == 2 else {
            throw FormatError(
                file: file.path, location: .tensor(name, index: nil), reason: "expected a matrix of this name")
        }
        return tensor.shape.rows
    }

    private func floats(_ name: String) throws -> [Float]? {
        guard let tensor = tensors[name] else { return nil }
        guard tensor.type == .float32 else {
            throw FormatError(
                file: file.path, location: .tensor(name, index: nil), reason: "expected elements of type F32")
        }
        return StoredTensor(name: name, elementType: .float32, shape: tensor.shape, bytes: tensor.bytes).floats()
    }

    /// The tokens that end a text or a turn, which runtimes of these files stop at.
    private mutating func addStopTokens() throws {
        let fields = ["eos", "eot"].map { name in
            JSONField(
                file["tokenizer.ggml.\(name)_token_id"]?.json, file: file.path, path: "tokenizer.ggml.\(name)_token_id")
        }
        var tokens: [Int] = []
        for field in fields where field.exists {
            let token = try field.int(in: 0...Int(Int32.max))
            if !tokens.contains(token) { tokens.append(token) }
        }
        if !tokens.isEmpty { set("eos_token_id", .array(tokens.map { .integer(Int64($0)) })) }
    }

    // MARK: - Families

    private mutating func addDecoder() throws {
        let (width, heads) = (
            try field("embedding_length").int(in: 1...1 << 30), try field("attention.head_count").int(in: 1...1 << 16)
        )
        let given = field("attention.key_length")
        let headWidth = try given.exists ? given.int(in: 1...1 << 16) : width / heads
        set("hidden_size", .integer(Int64(width)))
        set("num_attention_heads", .integer(Int64(heads)))
        let keyHeads = field("attention.head_count_kv")
        set("num_key_value_heads", .integer(Int64(try keyHeads.exists ? keyHeads.int(in: 1...1 << 16) : heads)))
        if !architecture.dividesWidth { set("head_dim", .integer(Int64(headWidth))) }
        try take("block_count", as: "num_hidden_layers")
        try take("feed_forward_length", as: "intermediate_size")
        try take("context_length", as: "max_position_embeddings")
        try takeNumber("attention.layer_norm_rms_epsilon", as: "rms_norm_eps")
        switch architecture.family {
        case "llama":
            set("attention_bias", .bool(tensors["blk.0.attn_q.bias"] != nil))
            set("mlp_bias", .bool(tensors["blk.0.ffn_up.bias"] != nil))
        case "qwen3": set("attention_bias", .bool(tensors["blk.0.attn_q.bias"] != nil))
        case "gemma", "gemma3_text": set("hidden_activation", "gelu_pytorch_tanh")
        default: break
        }
        if architecture.family == "gemma3_text" {
            set("query_pre_attn_scalar", .integer(Int64(headWidth)))
            if field("final_logit_softcapping").exists {
                try takeNumber("final_logit_softcapping", as: "final_logit_softcapping")
            }
        }
        try addWindows()
        try addRotary(headWidth)
    }

    private mutating func addWindows() throws {
        let window = field("attention.sliding_window")
        let isUsed = try window.exists && window.int() > 0
        if architecture.family.hasPrefix("qwen") { set("use_sliding_window", .bool(isUsed)) }
        guard isUsed else {
            if ["phi3", "mistral"].contains(architecture.family) { set("sliding_window", .null) }
            return
        }
        try take("attention.sliding_window", as: "sliding_window")
        let layers = try field("block_count").int(in: 1...1000)
        let pattern = field("attention.sliding_window_pattern")
        guard architecture.family == "gemma3_text" || architecture.family.hasPrefix("qwen") else { return }
        var isWindowed = (0..<layers).map { architecture.family != "gemma3_text" || ($0 + 1) % 6 != 0 }
        if case .array? = pattern.value {
            isWindowed = try pattern.array().map { try $0.bool() }
            guard isWindowed.count == layers else { throw pattern.error("expected \(layers) booleans") }
        }
        set("layer_types", .array(isWindowed.map { $0 ? "sliding_attention" : "full_attention" }))
    }

    private mutating func addRotary(_ headWidth: Int) throws {
        let base = field("rope.freq_base")
        let theta = try base.exists ? base.double() : 10_000
        set("rope_theta", .number(theta))
        if architecture.family == "gemma3_text" {
            let local = field("rope.freq_base_swa")
            set("rope_local_base_freq", .number(try local.exists ? local.double() : 10_000))
        }
        let count = field("rope.dimension_count")
        let width = try count.exists ? count.int(in: 2...1 << 16) : headWidth
        if architecture.family == "phi3" {
            set("partial_rotary_factor", .number(Double(width) / Double(headWidth)))
            let original = field("rope.scaling.original_context_length")
            if original.exists {
                try take("rope.scaling.original_context_length", as: "original_max_position_embeddings")
            }
            return try addLongRotary()
        }
        guard width == headWidth else { throw count.error("\(width) is not the width of a head, \(headWidth)") }
        if let factors = try floats("rope_freqs.weight") { return try addFactors(factors, theta, width) }
        let kind = field("rope.scaling.type")
        guard try kind.exists && kind.string() != "none" else { return }
        let (name, factor) = (try kind.string(), field("rope.scaling.factor"))
        guard ["linear", "yarn"].contains(name) else { throw kind.error("the kind \(quoted(name)) is not supported") }
        var scaling = [JSON.Member("rope_type", .string(name))]
        if factor.exists { scaling.append(JSON.Member("factor", .number(try factor.double()))) }
        guard name == "yarn" else {
            if factor.exists { set("rope_scaling", .object(scaling)) }
            return
        }
        for (key, own) in [
            ("original_context_length", "original_max_position_embeddings"), ("yarn_beta_fast", "beta_fast"),
            ("yarn_beta_slow", "beta_slow"),
        ] {
            if let value = field("rope.scaling.\(key)").value { scaling.append(JSON.Member(own, value)) }
        }
        set("rope_scaling", .object(scaling))
    }

    /// Adds the factors of Llama 3.1, by the numbers that they follow from, or else one by one.
    private mutating func addFactors(_ factors: [Float], _ theta: Double, _ width: Int) throws {
        let original = field("rope.scaling.original_context_length")
        let positions = try original.exists ? original.int(in: 1...1 << 30) : 8192
        let llama3: JSON = [
            "rope_type": "llama3", "factor": .number(Double(factors.max() ?? 1)), "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": .integer(Int64(positions)),
        ]
        let (parsed, whole) = (JSONField(llama3, file: file.path), JSONField(.object([]), file: file.path))
        if try GGUFRotary.llama3(parsed, whole, theta: theta, width: width) == factors {
            return set("rope_scaling", llama3)
        }
        let listed = JSON.array(factors.map { GGUFValue.float32($0).json })
        set(
            "rope_scaling",
            [
                "rope_type": "longrope", "short_factor": listed, "long_factor": listed, "factor": 1.0,
                "attention_factor": 1.0, "original_max_position_embeddings": .integer(Int64(positions)),
            ])
    }

    private mutating func addLongRotary() throws {
        guard let long = try floats("rope_factors_long.weight"), let short = try floats("rope_factors_short.weight")
        else {
            return
        }
        func list(_ numbers: [Float]) -> JSON { .array(numbers.map { GGUFValue.float32($0).json }) }
        var scaling = [
            JSON.Member("rope_type", "longrope"), JSON.Member("long_factor", list(long)),
            JSON.Member("short_factor", list(short)),
        ]
        let (original, factor) = (field("rope.scaling.original_context_length"), field("rope.scaling.attn_factor"))
        let positions = try original.exists ? original.int(in: 1...1 << 30) : 4096
        let growth = Double(try field("context_length").int(in: 1...1 << 30)) / Double(positions)
        if factor.exists, Float(try factor.double()) != Float(GGUFRotary.longAttention(growth, positions)) {
            scaling.append(JSON.Member("attention_factor", .number(try factor.double())))
        }
        set("rope_scaling", .object(scaling))
    }

    private mutating func addGPT() throws {
        try take("embedding_length", as: "n_embd")
        try take("attention.head_count", as: "n_head")
        try take("block_count", as: "n_layer")
        try take("context_length", as: "n_positions")
        try take("feed_forward_length", as: "n_inner")
        try takeNumber("attention.layer_norm_epsilon", as: "layer_norm_epsilon")
    }

    private mutating func addBert() throws {
        try take("embedding_length", as: "hidden_size")
        try take("attention.head_count", as: "num_attention_heads")
        try take("block_count", as: "num_hidden_layers")
        try take("context_length", as: "max_position_embeddings")
        try take("feed_forward_length", as: "intermediate_size")
        try takeNumber("attention.layer_norm_epsilon", as: "layer_norm_eps")
        set("type_vocab_size", .integer(Int64(try rows(of: "token_types.weight"))))
    }
}
