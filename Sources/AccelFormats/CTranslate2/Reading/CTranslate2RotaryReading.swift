import AccelByteIO

/// The rotary embeddings of a decoder, which every layer states.
struct CTranslate2RotaryReading {
    /// The numbers of one layer.
    private struct Layer: Equatable {
        let base: Double
        /// The rotated elements of each head.
        let rotated: Int
        let kind: Kind
        let original: Int?
        let longest: Int?
    }
    private enum Kind: Equatable {
        case plain
        case linear(factor: Double)
        case long(long: [Float], short: [Float])
        case llama3(low: Double, high: Double, factor: Double)
    }

    private let layer: Layer
    private let headWidth: Int
    private let isPhi: Bool

    /// - Throws: `RequestError` for what the family lacks; `FormatError`.
    init(_ reader: inout CTranslate2Reader, _ count: Int, headWidth: Int, isPhi: Bool) throws {
        let layers = try (0..<count).map { try Self.layer("decoder/layer_\($0)/self_attention", &reader, headWidth) }
        guard let first = layers.first else { throw reader.unsupported("it has no layers") }
        guard layers.allSatisfy({ $0 == first }) else {
            throw reader.unsupported("layers with different rotary embeddings are not supported")
        }
        guard isPhi || first.rotated == headWidth else {
            throw reader.unsupported(
                "\(first.rotated) of \(headWidth) elements of each head are rotated: not supported")
        }
        if case .llama3 = first.kind, isPhi || first.original == nil {
            throw reader.unsupported("Llama 3's rotary embeddings need \"original_max_position_embeddings\"")
        }
        if case .long = first.kind, first.original == nil || first.longest == nil {
            throw reader.unsupported("factors of rotary embeddings need the numbers of positions")
        }
        if case .plain = first.kind, let original = first.original, let longest = first.longest, longest / original > 1
        {
            throw reader.unsupported(
                "CTranslate2 scales cosine and sine for \(longest) of \(original) positions: not supported without factors"
            )
        }
        (layer, self.headWidth, self.isPhi) = (first, headWidth, isPhi)
    }

    private static func layer(_ name: String, _ reader: inout CTranslate2Reader, _ headWidth: Int) throws -> Layer {
        try reader.require("\(name)/rotary_interleave", .flag(false))
        // 0 stands for the whole head.
        guard let rotated = try reader.count("\(name)/rotary_dim", in: 0...headWidth) else {
            throw reader.unsupported("it has no rotary embeddings (\(quoted("\(name)/rotary_dim")))")
        }
        let kind: Kind
        switch try reader.count("\(name)/rotary_scaling_type", in: 0...127) {
        case nil: kind = .plain
        case 0?: kind = .linear(factor: try reader.positive("\(name)/rotary_scaling_factor"))
        case 1?:
            kind = .long(
                long: try reader.floats("\(name)/rotary_scaling_long_factor"),
                short: try reader.floats("\(name)/rotary_scaling_short_factor"))
        case 2?:
            kind = .llama3(
                low: try reader.positive("\(name)/rotary_low_freq_factor"),
                high: try reader.positive("\(name)/rotary_high_freq_factor"),
                factor: try reader.positive("\(name)/rotary_scaling_factor"))
        case let other?: throw reader.unsupported("rotary embeddings of the kind \(other) are not supported")
        }
        return Layer(
            base: try reader.positive("\(name)/rotary_base"), rotated: rotated == 0 ? headWidth : rotated, kind: kind,
            original: try reader.count("\(name)/original_max_position_embeddings"),
            longest: try reader.count("\(name)/max_position_embeddings"))
    }

    /// Adds the members of config.json, with the number of positions.
    func write(_ settings: CTranslate2Settings, to checkpoint: inout CTranslate2Checkpoint) throws {
        func numbers(_ floats: [Float]) -> JSON { .array(floats.map { .number(Double($0)) }) }
        checkpoint.set("rope_theta", .number(layer.base))
        if layer.rotated != headWidth {
            checkpoint.set("partial_rotary_factor", .number(Double(layer.rotated) / Double(headWidth)))
        }
        var positions = layer.longest
        switch layer.kind {
        case .plain: break
        case .linear(let factor):
            checkpoint.set("rope_scaling", ["rope_type": "linear", "factor": .number(factor)])
        case .long(let long, let short):
            checkpoint.set(
                "rope_scaling",
                ["rope_type": "longrope", "long_factor": numbers(long), "short_factor": numbers(short)])
        case .llama3(let low, let high, let factor):
            positions = layer.original.map { Int(Double($0) * min(factor, 1024)) }
            checkpoint.set(
                "rope_scaling",
                [
                    "rope_type": "llama3", "factor": .number(factor), "low_freq_factor": .number(low),
                    "high_freq_factor": .number(high),
                    "original_max_position_embeddings": .integer(Int64(layer.original ?? 0)),
                ])
        }
        if isPhi, let original = layer.original { checkpoint.set("original_max_position_embeddings", count: original) }
        if let positions, positions <= 1 << 24 {
            checkpoint.set("max_position_embeddings", count: positions)
        } else {
            checkpoint.remarks.append(
                "the files do not state the number of positions that the model was made for: that of its family is assumed"
            )
        }
    }
}
