import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// The config.json that stands for a GGUF file's keys, so that a family builds the model's programs.
struct GGUFConfiguration {
    let architecture: GGUFArchitecture
    var json: JSON { .object(members) }
    /// The other JSON files of the model, by their names in checkpoints.
    private(set) var documents: [String: JSON] = [:]
    /// The names of the tensors that were read here, which belong to no layer.
    private(set) var tensorsRead: Set<String> = []
    let metadata: GGUFMetadata
    private(set) var layers = 0

    private let file: GGUFFile
    /// The tensors of all files of the model, by name.
    private let tensors: [String: GGUFTensor]
    private var members: [JSON.Member] = []

    /// - Parameter tensors: those of all files of the model, by name.
    /// - Throws: `RequestError` for an architecture that no family has, and for a key that its graph does not compute; `FormatError` for
    ///   missing or contradicting keys.
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
        metadata = GGUFMetadata(file, architecture: name)
        let isDecoder = !["gpt2", "bert"].contains(name)
        set("model_type", .string(found.family))
        set("architectures", .array([.string(Self.classes[found.family] ?? "")]))
        try addVocabulary()
        if name != "bert" { set("tie_word_embeddings", .bool(tensors["output.weight"] == nil)) }
        if isDecoder { try addDecoder() } else if name == "gpt2" { try addGPT() } else { try addBert() }
        if name != "bert" { try addStopTokens() }
        try metadata.rejectUnread()
    }

    private static let classes = [
        "llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM", "qwen2": "Qwen2ForCausalLM",
        "qwen3": "Qwen3ForCausalLM", "phi3": "Phi3ForCausalLM", "gemma": "GemmaForCausalLM",
        "gemma3_text": "Gemma3ForCausalLM", "gpt2": "GPT2LMHeadModel", "bert": "BertModel",
    ]

    // MARK: - Keys

    private mutating func set(_ key: String, _ value: JSON) { members.append(JSON.Member(key, value)) }
    private mutating func set(_ key: String, count: Int) { set(key, .integer(Int64(count))) }

    private mutating func take(_ key: String, as own: String) throws {
        set(own, count: try metadata[key].int(in: 1...1 << 30))
    }

    private mutating func takeNumber(_ key: String, as own: String) throws {
        set(own, .number(try metadata[key].double()))
    }

    private func rows(of name: String) throws -> Int {
        guard let tensor = tensors[name], tensor.shape.rank == 2 else {
            throw FormatError(
                file: file.path, location: .tensor(name, index: nil), reason: "expected a matrix of this name")
        }
        return tensor.shape.rows
    }

    /// Adds the vocabulary: the rows of the word embeddings, which llama.cpp compares with the tokenizer, or with `vocab_size`.
    private mutating func addVocabulary() throws {
        let (rows, stated) = (try rows(of: "token_embd.weight"), metadata["vocab_size"])
        if stated.exists, file["tokenizer.ggml.tokens"] == nil, try stated.int() != rows {
            throw stated.error("expected \(rows), the number of rows of token_embd.weight")
        }
        set("vocab_size", count: rows)
    }

    /// The tokens that end a text or a turn, which runtimes of these files stop at.
    private mutating func addStopTokens() throws {
        let fields = ["eos", "eot"].map { metadata.global("tokenizer.ggml.\($0)_token_id") }
        var tokens: [Int] = []
        for field in fields where field.exists {
            let token = try field.int(in: 0...Int(Int32.max))
            if !tokens.contains(token) { tokens.append(token) }
        }
        if !tokens.isEmpty { set("eos_token_id", .array(tokens.map { .integer(Int64($0)) })) }
    }

    // MARK: - Families

    private struct Sizes {
        let width: Int
        let layers: Int
        let heads: Int
        let keyHeads: Int
        let headWidth: Int
    }

    /// Reads the sizes of layers and heads, with the names that they have in a configuration.
    private mutating func addSizes(
        _ names: (width: String, layers: String, heads: String, inner: String, positions: String)
    ) throws -> Sizes {
        let width = try metadata["embedding_length"].int(in: 1...1 << 30)
        layers = try metadata["block_count"].int(in: 1...1000)
        let heads = try metadata.shared("attention.head_count", in: 1...1 << 16, layers: layers)
        let keyHeads =
            try metadata["attention.head_count_kv"].exists
            ? metadata.shared("attention.head_count_kv", in: 1...1 << 16, layers: layers) : heads
        set(names.width, count: width)
        set(names.layers, count: layers)
        set(names.heads, count: heads)
        set(names.inner, count: try metadata.shared("feed_forward_length", in: 1...1 << 30, layers: layers))
        try take("context_length", as: names.positions)
        let (keys, values) = (metadata["attention.key_length"], metadata["attention.value_length"])
        let headWidth = try keys.exists ? keys.int(in: 1...1 << 16) : width / heads
        guard try (values.exists ? values.int() : width / heads) == headWidth else {
            throw metadata.unsupported(values.exists ? values : keys, "keys and values of different widths")
        }
        let isPlain = architecture.dividesWidth || ["gpt2", "bert"].contains(architecture.name)
        guard !isPlain || headWidth == width / heads else {
            throw metadata.unsupported(keys, "\(heads) heads of a width of \(width) have \(width / heads) elements")
        }
        return Sizes(width: width, layers: layers, heads: heads, keyHeads: keyHeads, headWidth: headWidth)
    }

    private mutating func addDecoder() throws {
        let sizes = try addSizes(
            ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "max_position_embeddings"))
        set("num_key_value_heads", count: sizes.keyHeads)
        if !architecture.dividesWidth { set("head_dim", count: sizes.headWidth) }
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
            set(
                "query_pre_attn_scalar",
                count: GGUFArchitecture.gemma3QueryScalar(
                    layers: sizes.layers, width: sizes.width, heads: sizes.heads, headWidth: sizes.headWidth))
            let cap = metadata["final_logit_softcapping"]
            if try cap.exists && cap.double() != 0 { set("final_logit_softcapping", .number(try cap.double())) }
        }
        let isSliding = try addWindows(sizes.layers)
        var rotary = GGUFRotaryKeys(metadata, tensors, architecture, headWidth: sizes.headWidth)
        for (key, value) in try rotary.members(hasWindows: isSliding) { set(key, value) }
        tensorsRead = rotary.tensorsRead
    }

    /// Adds the window of attention, which llama.cpp reads for gemma3 only; other models have the window that they were trained with.
    /// - Returns: whether the model has layers with a window.
    private mutating func addWindows(_ layers: Int) throws -> Bool {
        let (isGemma3, isQwen) = (architecture.family == "gemma3_text", architecture.family.hasPrefix("qwen"))
        guard isGemma3 || isQwen || ["phi3", "mistral"].contains(architecture.family) else { return false }
        let window = metadata["attention.sliding_window"]
        let isUsed = try window.exists && window.int() > 0
        if isQwen { set("use_sliding_window", .bool(isUsed)) }
        var isWindowed = (0..<layers).map { _ in isUsed }
        if isGemma3 || isQwen {
            let pattern = metadata["attention.sliding_window_pattern"]
            if isGemma3, isUsed { isWindowed = (0..<layers).map { ($0 + 1) % 6 != 0 } }
            if isUsed, case .array? = pattern.value {
                isWindowed = try pattern.array().map { try Self.flag($0) }
                guard isWindowed.count == layers else { throw pattern.error("expected \(layers) booleans") }
            } else if isUsed, pattern.exists {
                guard isGemma3 else { throw metadata.unsupported(pattern, "one number of layers for a window") }
                let every = try pattern.int(in: 0...1 << 30)
                isWindowed = (0..<layers).map { every == 0 || $0 % every < every - 1 }
            }
            if isUsed || isGemma3 {
                set("layer_types", .array(isWindowed.map { $0 ? "sliding_attention" : "full_attention" }))
            }
        }
        if isUsed {
            try take("attention.sliding_window", as: "sliding_window")
        } else if !isQwen {
            set("sliding_window", .null)
        }
        return isWindowed.contains(true)
    }

    private static func flag(_ field: JSONField) throws -> Bool {
        if case .integer? = field.value { return try field.int() != 0 }
        return try field.bool()
    }

    private mutating func addGPT() throws {
        let sizes = try addSizes(("n_embd", "n_layer", "n_head", "n_inner", "n_positions"))
        try requireEqualHeads(sizes)
        try takeNumber("attention.layer_norm_epsilon", as: "layer_norm_epsilon")
    }

    private func requireEqualHeads(_ sizes: Sizes) throws {
        guard sizes.keyHeads == sizes.heads else {
            throw metadata.unsupported(
                metadata["attention.head_count_kv"], "expected \(sizes.heads), the number of heads")
        }
    }

    private mutating func addBert() throws {
        let sizes = try addSizes(
            ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "max_position_embeddings"))
        try requireEqualHeads(sizes)
        try takeNumber("attention.layer_norm_epsilon", as: "layer_norm_eps")
        let types = try rows(of: "token_types.weight")
        let stated = metadata.global("tokenizer.ggml.token_type_count")
        if stated.exists, try stated.int() != types {
            throw stated.error("expected \(types), the number of rows of token_types.weight")
        }
        set("type_vocab_size", count: types)
        let pooling = metadata["pooling_type"]
        guard pooling.exists else { return }
        guard let kind = GGUFPooling(rawValue: try pooling.int()) else {
            throw metadata.unsupported(pooling, "expected 0 (none), 1 (mean), 2 (first token) or 3 (last token)")
        }
        let normalises = metadata.global(GGUFPooling.normalisationKey)
        documents = kind.documents(width: sizes.width, normalises: try normalises.exists ? normalises.bool() : true)
    }
}
