import AccelByteIO
import AccelPackages
import AccelTensors

/// Llama and its descendants in CTranslate2, whose `Generator` continues texts.
struct CTranslate2Decoder: CTranslate2Family {
    let names: [String]
    let prefixes = ["model."]
    /// The head width is written even if it is the usual one.
    var writesHeadWidth = false
    /// Each head is rotated as a whole, and that is written as its width instead of 0.
    var writesRotatedWidth = false
    /// The sliding window is written.
    var hasWindow = false
    /// Queries and keys are normalised.
    var normalisesHeads = false
    /// One linear layer computes queries, keys and values, and one computes gate and up.
    var isPacked = false
    /// Word embeddings are scaled, and checkpoints store the gains of norms minus 1.
    var isGemma = false
    /// The text of a missing unknown token; nil for null.
    var unknown: String?
    /// The padding token begins texts, if no other token does.
    var beginsWithPadding = false

    static let all = [
        CTranslate2Decoder(names: ["llama"], unknown: ""),
        CTranslate2Decoder(names: ["mistral"], writesHeadWidth: true, hasWindow: true),
        CTranslate2Decoder(names: ["qwen2"], unknown: "", beginsWithPadding: true),
        CTranslate2Decoder(
            names: ["qwen3"], writesHeadWidth: true, writesRotatedWidth: true, normalisesHeads: true,
            unknown: "", beginsWithPadding: true),
        CTranslate2Decoder(names: ["phi3"], isPacked: true),
        CTranslate2Decoder(names: ["gemma"], writesHeadWidth: true, isGemma: true),
    ]

    /// The scalars of all decoders of CTranslate2, including Whisper's.
    static let scalars: [(String, CTranslate2Scalar)] = [
        ("alibi", .flag(false)), ("alibi_use_positive_positions", .flag(false)), ("scale_alibi", .flag(false)),
        ("alignment_heads", .int16(1)), ("alignment_layer", .int16(-1)), ("pre_norm", .flag(true)),
        ("start_from_zero_embedding", .flag(false)),
    ]

    static let (words, head) = ("embed_tokens.weight", "lm_head.weight")

    var layout: CTranslate2Layout {
        var entries: [CTranslate2Layout.Entry] = [
            .norm("self_attention/layer_norm", "input_layernorm", hasShifts: false),
            .norm("ffn/layer_norm", "post_attention_layernorm", hasShifts: false),
            .linear("self_attention/linear_1", ["self_attn.o_proj"]), .linear("ffn/linear_1", ["mlp.down_proj"]),
        ]
        if normalisesHeads {
            entries += ["q_norm", "k_norm"].map {
                .norm("self_attention/\($0)", "self_attn.\($0)", hasShifts: false)
            }
        }
        if isPacked {
            entries += [
                .linear("self_attention/linear_0", ["self_attn.qkv_proj"]),
                .parts(["ffn/linear_0", "ffn/linear_0_noact"], "mlp.gate_up_proj"),
            ]
        } else {
            entries += [
                .linear("self_attention/linear_0", ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]),
                .linear("ffn/linear_0", ["mlp.gate_proj"]), .linear("ffn/linear_0_noact", ["mlp.up_proj"]),
            ]
        }
        return CTranslate2Layout(
            entries: [.norm("decoder/layer_norm", "norm", hasShifts: false)],
            stacks: [
                CTranslate2Layout.Stack(
                    variables: "decoder/layer_", modules: "layers", mark: "input_layernorm.weight", entries: entries)
            ])
    }

    /// The numbers of heads, read from config.json and from the shapes of the first layer.
    private struct Heads {
        let count, keys, width: Int
        /// Whether the width is the model's width divided among the heads, as CTranslate2 assumes.
        let isUsual: Bool
    }

    func lay(out draft: inout CTranslate2Draft, _ assets: [Asset]) throws -> [String] {
        draft.specification = ("TransformerDecoderSpec", 8)
        let config = draft.field
        let (words, head) = (Self.words, Self.head)
        let isTied = try config["tie_word_embeddings"].exists ? config["tie_word_embeddings"].bool() : isGemma
        guard isTied || draft.has(head) else {
            throw RequestError("CTranslate2: its Generator computes logits, and the model has no head (\(head))")
        }
        let tied = [words, head].filter(draft.has)
        try draft.add("decoder/embeddings/weight", tied.first ?? words, rank: 2)
        try draft.add("decoder/projection/weight", tied.last ?? head, rank: 2)
        let table = try draft.take(tied.first ?? words, rank: 2).shape.dimensions
        if isGemma {
            draft.set("decoder/embeddings/multiply_by_sqrt_depth", .float32(Float(Double(table[1]).squareRoot())))
        }

        for (name, value) in Self.scalars { draft.set("decoder/\(name)", value) }
        draft.set("decoder/scale_embeddings", .flag(isGemma))
        draft.set(
            "decoder/activation",
            isGemma ? .int8(1) : try CTranslate2Activation.read(config["hidden_act"], default: "silu"))
        try draft.add(layout)
        if isGemma {
            for variable in draft.variables where variable.name.hasSuffix("/gamma") {
                draft.set("\(variable.name.dropLast("/gamma".count))/layer_norm_use_residual", .flag(true))
            }
        }
        let heads = try heads(draft, width: table[1])
        try draft.set("decoder/num_heads", heads: heads.count)
        let window = try window(&draft)
        if let window { try draft.set("decoder/sliding_window", int32: window) }

        let rotary = try CTranslate2Rotary(config, width: heads.width, isPhi: isPacked)
        draft.remarks += rotary.remarks
        for index in 0..<draft.layerCount({ "layers.\($0).input_layernorm.weight" }) {
            let attention = "decoder/layer_\(index)/self_attention"
            try rotary.write(attention, wholeHeads: writesRotatedWidth, &draft)
            if heads.keys != heads.count { try draft.set("\(attention)/num_heads_kv", int32: heads.keys) }
            if writesHeadWidth || !heads.isUsual { try draft.set("\(attention)/head_dim", int32: heads.width) }
            if let window { try draft.set("\(attention)/sliding_window", int32: window) }
        }
        draft.members = try members(draft)
        return try draft.tokenizer.vocabulary(table[0]) { "<extra_id_\($0)>" }
    }

    private func heads(_ draft: CTranslate2Draft, width: Int) throws -> Heads {
        var draft = draft
        let config = draft.field
        let count = try config["num_attention_heads"].int(in: 1...Int(Int16.max))
        let (keys, headWidth): (Int, Int)
        if isPacked {
            keys = try config["num_key_value_heads"].exists ? config["num_key_value_heads"].int(in: 1...count) : count
            let rows = try draft.take("layers.0.self_attn.qkv_proj.weight", rank: 2).shape.dimensions[0]
            headWidth = rows / (count + 2 * keys)
        } else {
            headWidth = try draft.take("layers.0.self_attn.q_proj.weight", rank: 2).shape.dimensions[0] / count
            keys = try draft.take("layers.0.self_attn.k_proj.weight", rank: 2).shape.dimensions[0] / max(headWidth, 1)
        }
        guard headWidth > 0, keys > 0 else {
            throw config["num_attention_heads"].error("\(count) heads do not fit the shapes of the weights")
        }
        return Heads(count: count, keys: keys, width: headWidth, isUsual: headWidth == width / count)
    }

    /// Returns the sliding window if CTranslate2 has it for this family; else adds a remark on the missing window.
    private func window(_ draft: inout CTranslate2Draft) throws -> Int? {
        let config = draft.field
        let isUsed =
            try config["use_sliding_window"].exists ? config["use_sliding_window"].bool() : !names.contains("qwen2")
        guard config["sliding_window"].exists else { return nil }
        let window = try config["sliding_window"].int(in: 1...1 << 30)
        if hasWindow { return window }
        let longest = try config["max_position_embeddings"].exists ? config["max_position_embeddings"].int() : Int.max
        guard isUsed, window < longest else { return nil }
        draft.remarks.append(
            "CTranslate2's \(names[0]) has no sliding window: beyond \(window) positions it attends to more than the model"
        )
        return nil
    }

    private func members(_ draft: CTranslate2Draft) throws -> [String: JSON] {
        func token(_ name: String) -> JSON { draft.tokenizer.special(name, family: names[0]) }
        let epsilon = draft.field["rms_norm_eps"]
        let number = try epsilon.exists ? epsilon.double() : isPacked ? 1e-5 : 1e-6
        let (begin, missing) = (token("bos_token"), token("unk_token"))
        return [
            "bos_token": begin == .null && beginsWithPadding ? token("pad_token") : begin,
            "eos_token": token("eos_token"),
            "unk_token": missing == .null ? unknown.map { .string($0) } ?? .null : missing,
            // What CTranslate2 takes where the number is missing.
            "layer_norm_epsilon": isPacked && number == 1e-6 ? .null : .number(number),
            "multi_query_attention": true,
        ]
    }
}
