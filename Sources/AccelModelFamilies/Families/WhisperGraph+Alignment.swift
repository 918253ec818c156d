import AccelByteIO
import AccelPrograms
import AccelTensors

/// The heads of the decoder that attend to the sound where a token is spoken, as pairs of a layer and a head.
struct AlignmentHeads {
    /// In the order of the file.
    let heads: [(layer: Int, head: Int)]

    /// The heads that the checkpoint lists, or all heads of the later half of the layers, as in OpenAI's code.
    /// - Throws: `FormatError` as `listed(by:_:)` does.
    init(of checkpoint: Checkpoint, _ config: WhisperConfiguration) throws {
        let (layers, count) = (config.decoder.layers, config.decoder.heads)
        self =
            try Self.listed(by: checkpoint, config)
            ?? AlignmentHeads(heads: (layers / 2..<layers).flatMap { layer in (0..<count).map { (layer, $0) } })
    }

    private init(heads: [(layer: Int, head: Int)]) { self.heads = heads }

    /// Reads `alignment_heads` of generation_config.json, else of config.json; nil if neither has a list.
    /// - Throws: `FormatError` for a list that is empty or names other heads than the decoder's.
    static func listed(by checkpoint: Checkpoint, _ config: WhisperConfiguration) throws -> AlignmentHeads? {
        let (layers, count) = (config.decoder.layers, config.decoder.heads)
        let fields = [try checkpoint.document("generation_config.json"), checkpoint.configuration]
        guard let field = fields.compactMap({ $0?["alignment_heads"] }).first(where: { $0.exists && $0.value != .null })
        else { return nil }
        let heads = try field.array().map { pair in
            let numbers = try pair.array()
            guard numbers.count == 2 else { throw pair.error("expected a layer and a head") }
            return (
                layer: try numbers[0].int(in: 0...layers - 1), head: try numbers[1].int(in: 0...count - 1)
            )
        }
        guard !heads.isEmpty else { throw field.error("expected one or more pairs of a layer and a head") }
        return AlignmentHeads(heads: heads)
    }
}

extension WhisperGraph {
    /// The scores of some heads over a whole text. No layer after the last of these heads runs.
    mutating func aligner(_ alignment: AlignmentHeads) throws {
        let (width, stack) = (config.width, config.decoder)
        let tokens = layers.builder.input(
            "decoder_input_ids", TensorType(.int64, ["batch", "sequence"]), .tokens(vocabulary: config.vocabulary))
        let (rows, mask) = try layers.in("positions") { layers in
            var positions = try DecoderPositions(wholeText: &layers)
            return (try positions.rows(in: &layers), try positions.mask(window: nil, in: &layers))
        }
        let last = alignment.heads.map(\.layer).max() ?? 0
        var x = try embedded(tokens, at: rows)
        /// By layer, F32[batch, heads, sequence, states].
        var scores: [Int: Value] = [:]
        for index in 0...last {
            let name = "decoder.layers.\(index)"
            x = try residual("\(name).self_attn", x) { graph, normal in
                let operands = try graph.selfAttention("\(name).self_attn", normal, stack.heads)
                return try graph.attend("\(name).self_attn", operands + [mask], stack.heads)
            }
            let seesSound = alignment.heads.contains { $0.layer == index }
            let normal = try layers.layerNorm(
                "\(name).encoder_attn_layer_norm", x, width: width, epsilon: Self.epsilon)
            let query = try heads("\(name).encoder_attn.q_proj", normal, stack.heads)
            let (keyPart, valuePart) = (Self.halves[0], Self.halves[1])
            let keys = crossState(keyPart, layer: index)
            if seesSound { scores[index] = try crossScores("\(name).encoder_attn", query, keys) }
            guard index < last else { break }
            let mixed = try attend(
                "\(name).encoder_attn", [query, keys, crossState(valuePart, layer: index)], stack.heads)
            x = try layers.in("\(name).encoder_attn") { try $0.apply(Add(), x, mixed) }
            x = try feedForward(name, x, stack.intermediate)
        }
        let chosen = try layers.in("alignment") { layers in
            let own = try alignment.heads.compactMap { layer, head in
                try scores[layer].map {
                    try layers.apply(
                        Slice(
                            begin: [0, .fixed(head), 0, 0], sizes: ["batch", 1, "sequence", Self.source]), $0)
                }
            }
            return own.count == 1 ? own[0] : try layers.builder.apply(Concat(axis: 1), own)
        }
        layers.builder.output("alignment", chosen, .alignment)
    }

    /// Returns the scaled products of queries and keys, F32[batch, heads, length, states].
    mutating func crossScores(_ name: String, _ query: Value, _ keys: Value) throws -> Value {
        let (width, count) = (config.width, config.decoder.heads)
        return try layers.in(name) { layers in
            let scale = layers.builder.literal(1 / Float(width / count).squareRoot())
            return try layers.apply(
                MatMul(), try layers.apply(Multiply(), query, scale), try layers.apply(Transpose([0, 1, 3, 2]), keys))
        }
    }
}
