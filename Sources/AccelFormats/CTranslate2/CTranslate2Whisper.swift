import AccelByteIO
import AccelPackages
import AccelTensors

/// Whisper in CTranslate2.
struct CTranslate2Whisper: CTranslate2Family {
    let names = ["whisper"]
    let prefixes = ["model."]
    static let words = "decoder.embed_tokens.weight"
    static let head = "proj_out.weight"
    private static let activation = "activation_function"

    static let layout: CTranslate2Layout = {
        typealias Entry = CTranslate2Layout.Entry
        let attention: [Entry] = [
            .norm("self_attention/layer_norm", "self_attn_layer_norm"),
            .linear(
                "self_attention/linear_0", ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
                unbiased: ["self_attn.k_proj"]),
            .linear("self_attention/linear_1", ["self_attn.out_proj"]),
        ]
        let cross: [Entry] = [
            .norm("attention/layer_norm", "encoder_attn_layer_norm"),
            .linear("attention/linear_0", ["encoder_attn.q_proj"]),
            .linear(
                "attention/linear_1", ["encoder_attn.k_proj", "encoder_attn.v_proj"],
                unbiased: ["encoder_attn.k_proj"]),
            .linear("attention/linear_2", ["encoder_attn.out_proj"]),
        ]
        let feed: [Entry] = [
            .norm("ffn/layer_norm", "final_layer_norm"), .linear("ffn/linear_0", ["fc1"]),
            .linear("ffn/linear_1", ["fc2"]),
        ]
        let convolutions = ["conv1", "conv2"].flatMap { name -> [Entry] in
            [
                .tensor("encoder/\(name)/weight", "encoder.\(name).weight", rank: 3),
                .tensor("encoder/\(name)/bias", "encoder.\(name).bias", rank: 1),
            ]
        }
        let sides = ["encoder", "decoder"]
        let ends = sides.flatMap { side -> [Entry] in
            [
                .tensor("\(side)/position_encodings/encodings", "\(side).embed_positions.weight", rank: 2),
                .norm("\(side)/layer_norm", "\(side).layer_norm"),
            ]
        }
        return CTranslate2Layout(
            entries: convolutions + ends,
            stacks: sides.map { side in
                CTranslate2Layout.Stack(
                    variables: "\(side)/layer_", modules: "\(side).layers", mark: "fc1.weight",
                    entries: attention + (side == "decoder" ? cross : []) + feed)
            })
    }()

    func lay(out draft: inout CTranslate2Draft, _ assets: [Asset]) throws -> [String] {
        draft.specification = ("WhisperSpec", 3)
        guard try !draft.field[Self.activation].exists || draft.field[Self.activation].string() == "gelu" else {
            throw RequestError(
                "CTranslate2: Whisper has no activation but gelu: \(Self.activation) of config.json differs")
        }
        try draft.add(Self.layout)
        for side in ["encoder", "decoder"] {
            try draft.set(
                "\(side)/num_heads", heads: draft.field["\(side)_attention_heads"].int(in: 1...Int(Int16.max)))
        }
        for (name, value) in CTranslate2Decoder.scalars { draft.set("decoder/\(name)", value) }
        draft.set("decoder/activation", .int8(3))
        draft.set("decoder/scale_embeddings", .flag(false))
        let tied = [Self.words, Self.head].filter(draft.has)
        try draft.add("decoder/embeddings/weight", tied.first ?? Self.words, rank: 2)
        try draft.add("decoder/projection/weight", tied.last ?? Self.head, rank: 2)
        draft.members = try configuration(draft, assets)
        let count = try draft.take(tied.first ?? Self.words, rank: 2).shape.dimensions[0]
        return try draft.tokenizer.vocabulary(count) { missing in
            // Time stamps, a fiftieth of a second apart.
            let hundredths = 2 * missing
            let rest = hundredths % 100
            return "<|\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)|>"
        }
    }

    /// Returns the members of config.json: tokens that are never chosen, languages, and the heads that follow the audio.
    private func configuration(_ draft: CTranslate2Draft, _ assets: [Asset]) throws -> [String: JSON] {
        let file = "generation_config.json"
        let generation = try assets.first { $0.name == file }.map {
            JSONField(try JSON.parse($0.content, file: file), file: file)
        }
        let source = generation ?? draft.field
        var heads = source["alignment_heads"].value ?? .null
        if heads == .null {
            // As OpenAI's code does for models without a list: all heads of the later half of the layers.
            let count = draft.layerCount { "decoder.layers.\($0).fc1.weight" }
            let width = try draft.field["decoder_attention_heads"].int(in: 1...Int(Int16.max))
            heads = .array(
                (count / 2..<count).flatMap { layer in
                    (0..<width).map { [.integer(Int64(layer)), .integer(Int64($0))] }
                })
        }
        return [
            "alignment_heads": heads, "lang_ids": .array(try languages(source, draft.tokenizer).map { .integer($0) }),
            "suppress_ids": source["suppress_tokens"].value ?? .null,
            "suppress_ids_begin": source["begin_suppress_tokens"].value ?? .null,
        ]
    }

    private func languages(_ source: JSONField, _ tokenizer: CTranslate2Tokenizer) throws -> [Int64] {
        guard source["lang_to_id"].exists else {
            let listed = tokenizer.ids(of: tokenizer.additional, except: Self.tasks)
            return listed.isEmpty ? tokenizer.ids(of: tokenizer.languageNames, except: Self.tasks) : listed
        }
        return try source["lang_to_id"].members().map { Int64(try $0.field.int()) }.sorted()
    }

    /// Special tokens that are not languages.
    private static let tasks: Set<String> = [
        "<|endoftext|>", "<|startoftranscript|>", "<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>",
        "<|nocaptions|>", "<|notimestamps|>",
    ]
}
