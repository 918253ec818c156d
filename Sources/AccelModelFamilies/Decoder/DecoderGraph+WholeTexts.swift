import AccelByteIO
import AccelPrograms
import AccelTensors

/// Programs that run whole texts, without a cache.
extension DecoderGraph {
    /// Tells of a model class in Python beside the weights, which may differ from that of transformers: in some, tokens attend to those
    /// after them.
    static func remarkOnCode(_ file: JSONField, _ config: DecoderConfiguration, in names: inout TensorNames) {
        guard file["auto_map"]["AutoModel"].exists, config.attendsToLater == nil else { return }
        names.remark(
            "auto_map of config.json names Python code, which is not read: the model is that of transformers, whose tokens "
                + "attend to those before them only")
    }

    /// A batch of whole texts.
    struct Texts {
        /// I64[batch, sequence]
        let tokens: Value
        /// I64[batch, sequence]
        let mask: Value
        /// The final hidden states, F32[batch, sequence, width].
        let hidden: Value
        /// The largest number of tokens.
        let longest: Int
    }

    /// Builds the program of whole texts.
    /// - Parameter output: adds the outputs.
    static func wholeTexts(
        _ config: DecoderConfiguration, role: FunctionRole, names: inout TensorNames,
        output: (inout DecoderGraph, Texts) throws -> Void
    ) throws -> Program {
        // Tables of pooling have a row for each position.
        let longest = min(config.positions, 1 << 20)
        let dimensions = [
            Program.FreeDimension("batch", usual: [1, 8]),
            Program.FreeDimension(
                "sequence", usual: Set([min(128, longest), min(512, longest)]).sorted(), maximum: longest,
                remarks: Self.remarks(config, upTo: longest)),
        ]
        var builder = ProgramBuilder(name: "decoder", dimensions: dimensions, role: role)
        let type = TensorType(.int64, ["batch", "sequence"])
        let tokens = builder.input("input_ids", type, .tokens(vocabulary: config.vocabulary))
        let mask = builder.input("attention_mask", type, .attentionMask(.onesCount))
        var graph = try DecoderGraph(config, LayerBuilder(builder: builder, names: names), length: "sequence") {
            try DecoderPositions(whole: mask, seesLater: config.attendsToLater != nil, in: &$0)
        }
        let hidden = try graph.hidden(tokens)
        try output(&graph, Texts(tokens: tokens, mask: mask, hidden: hidden, longest: longest))
        names = graph.layers.names
        return try graph.layers.builder.finish()
    }

    /// Returns the scores of labels, F32[batch, labels], at each text's last token that the mask shows and that is not
    /// the padding token.
    mutating func labels(of text: Texts, count: Int, padding: Int?) throws -> Value {
        let mask = try layers.in("score") { layers in
            guard let padding else { return text.mask }
            let token = layers.builder.literal(HostTensor([Int64(padding)], [1]), name: "padding_token")
            let isText = try layers.apply(
                Cast(to: .float32), try layers.apply(Compare(.notEqual), text.tokens, token))
            return try layers.apply(Multiply(), try layers.apply(Cast(to: .float32), text.mask), isText)
        }
        let last = try SentencePooling(modes: [.lastToken]).apply(
            to: text.hidden, mask: mask, positions: text.longest, in: &layers)
        return try layers.linear("score", last, from: config.width, to: count, isBiased: false)
    }
}
