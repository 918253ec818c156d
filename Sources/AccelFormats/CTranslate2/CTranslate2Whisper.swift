import AccelByteIO
import AccelPackages
import AccelTensors

/// Whisper in CTranslate2.
struct CTranslate2Whisper: CTranslate2Family {
    let names = ["whisper"]
    let prefixes = ["model."]
    private static let words = "decoder.embed_tokens.weight"
    private static let head = "proj_out.weight"
    private static let activation = "activation_function"

    func lay(out draft: inout CTranslate2Draft, _ assets: [Asset]) throws -> [String] {
        draft.specification = ("WhisperSpec", 3)
        guard try !draft.field[Self.activation].exists || draft.field[Self.activation].string() == "gelu" else {
            throw RequestError(
                "CTranslate2: Whisper has no activation but gelu: \(Self.activation) of config.json differs")
        }
        for conv in ["conv1", "conv2"] {
            try draft.add("encoder/\(conv)/weight", "encoder.\(conv).weight", rank: 3)
            try draft.add("encoder/\(conv)/bias", "encoder.\(conv).bias", rank: 1)
        }
        for side in ["encoder", "decoder"] {
            try draft.add("\(side)/position_encodings/encodings", "\(side).embed_positions.weight", rank: 2)
            try draft.norm("\(side)/layer_norm", "\(side).layer_norm")
            try draft.set(
                "\(side)/num_heads", heads: draft.field["\(side)_attention_heads"].int(in: 1...Int(Int16.max)))
            for index in 0..<draft.layerCount({ "\(side).layers.\($0).fc1.weight" }) {
                try layer("\(side)/layer_\(index)", "\(side).layers.\(index)", &draft)
            }
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

    private func layer(_ name: String, _ module: String, _ draft: inout CTranslate2Draft) throws {
        let own = "\(module).self_attn"
        try draft.norm("\(name)/self_attention/layer_norm", "\(own)_layer_norm")
        try draft.linear("\(name)/self_attention/linear_0", "\(own).q_proj", "\(own).k_proj", "\(own).v_proj")
        try draft.linear("\(name)/self_attention/linear_1", "\(own).out_proj")
        if module.hasPrefix("decoder.") {
            let cross = "\(module).encoder_attn"
            try draft.norm("\(name)/attention/layer_norm", "\(cross)_layer_norm")
            try draft.linear("\(name)/attention/linear_0", "\(cross).q_proj")
            try draft.linear("\(name)/attention/linear_1", "\(cross).k_proj", "\(cross).v_proj")
            try draft.linear("\(name)/attention/linear_2", "\(cross).out_proj")
        }
        try draft.norm("\(name)/ffn/layer_norm", "\(module).final_layer_norm")
        try draft.linear("\(name)/ffn/linear_0", "\(module).fc1")
        try draft.linear("\(name)/ffn/linear_1", "\(module).fc2")
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
        guard source["lang_to_id"].exists else { return tokenizer.ids(of: tokenizer.additional, except: Self.tasks) }
        return try source["lang_to_id"].members().map { Int64(try $0.field.int()) }.sorted()
    }

    /// Special tokens that are not languages.
    private static let tasks: Set<String> = [
        "<|endoftext|>", "<|startoftranscript|>", "<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>",
        "<|nocaptions|>", "<|notimestamps|>",
    ]
}
