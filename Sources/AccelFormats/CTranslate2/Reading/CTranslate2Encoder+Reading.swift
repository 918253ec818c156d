import AccelByteIO

extension CTranslate2Encoder {
    /// Returns the family of a model. Models of one segment are of RoBERTa: its classes take no segments.
    static func family(of reader: CTranslate2Reader) throws -> any CTranslate2Family {
        let segments = "encoder/embeddings_1/weight"
        guard reader.has(segments) else { return distilbert }
        return try reader.sizes(of: segments, rank: 2)[0] == 1 ? roberta : bert
    }

    func read(_ reader: inout CTranslate2Reader, _ settings: CTranslate2Settings) throws -> CTranslate2Checkpoint {
        var checkpoint = CTranslate2Checkpoint(names[0], architecture)
        for name in ["multi_query_attention", "pre_norm", "scale_embeddings"] {
            try reader.require("encoder/\(name)", .flag(false))
        }
        try reader.require("encoder/embeddings_merge", .flag(hasSegments))
        let words = try reader.sizes(of: "encoder/embeddings_0/weight", rank: 2)
        checkpoint.set("vocab_size", count: words[0])
        checkpoint.set(fields.width, count: words[1])
        guard let heads = try reader.count("encoder/num_heads", in: 1...1 << 16) else {
            throw reader.unsupported("it has no variable \"encoder/num_heads\"")
        }
        checkpoint.set(modules.heads, count: heads)
        let (stack, epsilon) = (layout.stacks[0], try settings.epsilon(default: 1e-5))
        checkpoint.set(fields.layers, count: reader.layerCount(of: stack))
        checkpoint.set(
            fields.intermediate,
            count: try reader.sizes(of: "\(stack.names(0).variables)ffn/linear_0/weight", rank: 2)[0])
        checkpoint.set(modules.activation, .string(try reader.activation("encoder/activation")))
        if hasSegments {
            checkpoint.set("type_vocab_size", count: try reader.sizes(of: "encoder/embeddings_1/weight", rank: 2)[0])
            checkpoint.set("layer_norm_eps", .number(epsilon))
        } else if epsilon != 1e-12 {
            throw reader.unsupported("layer_norm_epsilon of config.json is not that of DistilBERT, 1e-12")
        }
        let (positions, table) = Self.positions
        let first = startsAtPadding ? 1 + (settings.number(of: "<pad>") ?? 1) : 0
        checkpoint.set("max_position_embeddings", count: first + (try reader.sizes(of: positions, rank: 2)[0]))
        if startsAtPadding { checkpoint.set("pad_token_id", count: first - 1) }
        try reader.add(layout)
        if first > 0 {
            // The model reads these rows for padding only.
            try reader.add(positions, behindZeros: first, as: table)
        } else {
            try reader.add(positions, as: table, rank: 2)
        }
        if reader.has("pooler_dense/weight") {
            try reader.require("pooler_activation", CTranslate2Activation.tanh)
            try reader.add(CTranslate2Layout(entries: [Self.pooler]))
        }
        return checkpoint
    }

    private var architecture: String {
        ["bert": "BertModel", "roberta": "RobertaModel"][names[0]] ?? "DistilBertModel"
    }

    /// The names of fields of config.json.
    private var fields: (width: String, layers: String, intermediate: String) {
        hasSegments
            ? ("hidden_size", "num_hidden_layers", "intermediate_size") : ("dim", "n_layers", "hidden_dim")
    }
}

extension CTranslate2Reader {
    /// Reads a function between linear layers.
    /// - Throws: `RequestError` if there is none, or no family has it.
    mutating func activation(_ name: String) throws -> String {
        guard let code = try count(name, in: 0...127) else { throw unsupported("it has no variable \(quoted(name))") }
        guard let activation = CTranslate2Activation.name(of: code) else {
            throw unsupported("the activation \(code) of \(quoted(name)) is not supported")
        }
        return activation
    }
}
