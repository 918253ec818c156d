import AccelByteIO
import AccelTensors

/// The parameters of a model class in MLX, and the checks of a loader that rejects what is missing, left over, or of another shape: those of
/// mlx-lm (utils.py and the files of models) and of mlx-audio-swift (WhisperModel.swift and WhisperLayers.swift).
struct MLXClass {
    /// A module with a matrix, which may be quantized, or one with vectors or other tensors.
    enum Module {
        /// A linear layer, or embeddings: [rows, columns].
        case matrix(rows: Int, columns: Int, hasBias: Bool = false)
        case tensors([String: [Int]])
    }

    private(set) var modules: [String: Module] = [:]

    mutating func add(_ path: String, _ module: Module) { modules[path] = module }

    mutating func linear(_ path: String, _ rows: Int, _ columns: Int, bias: Bool = false) {
        add(path, .matrix(rows: rows, columns: columns, hasBias: bias))
    }

    mutating func norm(_ path: String, _ width: Int, bias: Bool = false) {
        add(path, .tensors(bias ? ["weight": [width], "bias": [width]] : ["weight": [width]]))
    }

    /// The scheme of a layer.
    struct Scheme: Equatable {
        let bits: Int, group: Int, mode: String

        init(_ field: JSONField) throws {
            (bits, group) = (try field["bits"].int(), try field["group_size"].int())
            mode = field["mode"].exists ? try field["mode"].string() : "affine"
        }
    }

    /// Returns the differences between tensors and the class, a sentence each.
    /// - Parameter scheme: the scheme that the loader gives a matrix; nil for a plain one.
    func differences(
        from tensors: [String: StoredTensor], scheme: (_ path: String) throws -> Scheme?
    ) throws -> [String] {
        var expected: [String: (shape: [Int], isCode: Bool)] = [:]
        var scales: [String: Scheme] = [:]
        for (path, module) in modules {
            switch module {
            case .tensors(let shapes):
                for (name, shape) in shapes { expected["\(path).\(name)"] = (shape, false) }
            case .matrix(let rows, let columns, let hasBias):
                if hasBias { expected["\(path).bias"] = ([rows], false) }
                guard let scheme = try scheme(path) else {
                    expected["\(path).weight"] = ([rows, columns], false)
                    continue
                }
                expected["\(path).weight"] = ([rows, columns * scheme.bits / 32], true)
                let parts = scheme.mode == "affine" ? ["scales", "biases"] : ["scales"]
                for part in parts { expected["\(path).\(part)"] = ([rows, columns / scheme.group], false) }
                scales["\(path).scales"] = scheme
            }
        }
        var found = Set(expected.keys).subtracting(tensors.keys).map { "\($0) is missing" }
        for (name, tensor) in tensors {
            guard let (shape, isCode) = expected[name] else {
                found.append("\(name) is left over")
                continue
            }
            let isByte = scales[name].map { $0.mode != "affine" } ?? false
            let type = tensor.elementType
            let fits = isCode ? type == .uint32 : isByte ? type == .uint8 : type.isFloatingPoint
            if tensor.shape.dimensions != shape || !fits {
                found.append("\(name) is \(tensor.elementType) \(tensor.shape.dimensions), not \(shape)")
            }
        }
        return found.sorted()
    }
}

extension MLXClass {
    /// The class that mlx-lm has for a configuration.
    init(ofModelIn configuration: JSONField) throws {
        let type = try configuration["model_type"].string()
        if type == "gpt2" {
            try addGPT2(configuration)
            return
        }
        func number(_ key: String) throws -> Int { try configuration[key].int() }
        func flag(_ key: String, _ usual: Bool) throws -> Bool {
            configuration[key].exists ? try configuration[key].bool() : usual
        }
        let (width, inner, vocabulary) = (
            try number("hidden_size"), try number("intermediate_size"), try number("vocab_size")
        )
        let heads = try number("num_attention_heads")
        let groups = configuration["num_key_value_heads"].exists ? try number("num_key_value_heads") : heads
        // The classes of phi3 and qwen2 read no head_dim.
        let hasOwnWidth = configuration["head_dim"].exists && !["phi3", "qwen2"].contains(type)
        let size = hasOwnWidth ? try number("head_dim") : width / heads
        let isLlama = ["llama", "mistral"].contains(type)
        let biasOfAttention = isLlama ? try flag("attention_bias", false) : type == "qwen2"
        let biasOfOutput = isLlama && biasOfAttention
        let biasOfInner = isLlama ? try flag("mlp_bias", false) : false
        linear("model.embed_tokens", vocabulary, width)
        norm("model.norm", width)
        for layer in 0..<(try number("num_hidden_layers")) {
            let path = "model.layers.\(layer)"
            let attention = "\(path).self_attn"
            norm("\(path).input_layernorm", width)
            norm("\(path).post_attention_layernorm", width)
            linear("\(attention).o_proj", width, heads * size, bias: biasOfOutput)
            linear("\(path).mlp.down_proj", width, inner, bias: biasOfInner)
            if type == "phi3" {
                linear("\(attention).qkv_proj", (heads + 2 * groups) * size, width)
                linear("\(path).mlp.gate_up_proj", 2 * inner, width)
                continue
            }
            for (name, count) in [("q", heads), ("k", groups), ("v", groups)] {
                linear("\(attention).\(name)_proj", count * size, width, bias: biasOfAttention)
            }
            for name in ["gate", "up"] { linear("\(path).mlp.\(name)_proj", inner, width, bias: biasOfInner) }
        }
        let isTied = try type == "gemma" || flag("tie_word_embeddings", type != "phi3")
        if !isTied { linear("lm_head", vocabulary, width) }
    }

    private mutating func addGPT2(_ configuration: JSONField) throws {
        let width = try configuration["n_embd"].int()
        linear("model.wte", try configuration["vocab_size"].int(), width)
        linear("model.wpe", try configuration["n_positions"].int(), width)
        norm("model.ln_f", width, bias: true)
        for layer in 0..<(try configuration["n_layer"].int()) {
            let path = "model.h.\(layer)"
            norm("\(path).ln_1", width, bias: true)
            norm("\(path).ln_2", width, bias: true)
            linear("\(path).attn.c_attn", 3 * width, width, bias: true)
            linear("\(path).attn.c_proj", width, width, bias: true)
            linear("\(path).mlp.c_fc", 4 * width, width, bias: true)
            linear("\(path).mlp.c_proj", width, 4 * width, bias: true)
        }
    }

    /// mlx-audio-swift's Whisper, with the names that it has after the translation from mlx-whisper's.
    init(ofWhisperIn configuration: JSONField) throws {
        func number(_ key: String) throws -> Int { try configuration[key].int() }
        let width = try number("n_audio_state")
        for (name, inputs) in [("conv1", try number("n_mels")), ("conv2", width)] {
            add("model.encoder.\(name)", .tensors(["weight": [width, 3, inputs], "bias": [width]]))
        }
        linear("model.decoder.embed_tokens", try number("n_vocab"), width)
        add("model.encoder.embed_positions", .tensors(["weight": [try number("n_audio_ctx"), width]]))
        add("model.decoder.embed_positions", .tensors(["weight": [try number("n_text_ctx"), width]]))
        for (half, count) in [("encoder", "n_audio_layer"), ("decoder", "n_text_layer")] {
            norm("model.\(half).layer_norm", width, bias: true)
            for layer in 0..<(try number(count)) {
                let path = "model.\(half).layers.\(layer)"
                for attention in ["self_attn"] + (half == "decoder" ? ["encoder_attn"] : []) {
                    norm("\(path).\(attention)_layer_norm", width, bias: true)
                    for name in ["q_proj", "k_proj", "v_proj", "out_proj"] {
                        linear("\(path).\(attention).\(name)", width, width, bias: name != "k_proj")
                    }
                }
                norm("\(path).final_layer_norm", width, bias: true)
                linear("\(path).fc1", 4 * width, width, bias: true)
                linear("\(path).fc2", width, 4 * width, bias: true)
            }
        }
    }
}
