import AccelByteIO
import AccelModelFamilies
import AccelTensors

/// The rotary embeddings of a decoder as CTranslate2's attention reads them.
///
/// Its converter leaves out the factor of Llama 3's kind, and the width of Phi 3's where a part of each head is rotated:
/// CTranslate2 then computes something else than the model. They are written here. It writes two numbers of positions of every
/// Phi 3, from which CTranslate2 computes a factor of cosine and sine. That factor belongs to longrope.
struct CTranslate2Rotary {
    private let base: Double
    private let kind: String
    private let source: RotarySource
    private let headWidth: Int
    /// The rotated elements of each head.
    private let rotated: Int
    /// The positions of pretraining, and those from which the factor of Phi 3 is computed; nil where none are written.
    private let original: Int?
    private let longest: Int?
    /// Where CTranslate2 rotates by other factors than the model.
    private(set) var remarks: [String] = []

    /// The positions for which CTranslate2 makes factors at once.
    private static let block = 2048

    /// - Throws: `RequestError` for a kind that CTranslate2 lacks; `FormatError`.
    init(_ config: JSONField, width: Int, isPhi: Bool) throws {
        source = isPhi ? .ofPhi3(config) : .ofLayers(config)
        let (kind, name, field) = try source.kind()
        let kinds = isPhi ? ["default", "longrope"] : ["default", "linear", "llama3"]
        guard kinds.contains(kind) else {
            throw RequestError(
                "CTranslate2: it has no rotary embeddings of the kind \(quoted(name)), for which the field \(field.path) of "
                    + "\(config.file) asks (there is \(kinds.joined(separator: ", ")))", status: .unavailable)
        }
        base = try source.base()
        let share = try source.share(kind)
        rotated = Int((Double(width) * min(share, 1)).rounded(.down))
        guard rotated > 0, rotated % 2 == 0 else {
            throw source["partial_rotary_factor"].error(
                "CTranslate2 rotates an even number of elements of each head, not \(rotated) of \(width)")
        }
        (self.kind, headWidth) = (kind, width)
        let limit = config["max_position_embeddings"]
        guard isPhi else {
            longest = nil
            original = kind == "llama3" ? try source.originalPositions(default: try limit.int(in: 1...1 << 30)) : nil
            return
        }
        let positions = try limit.exists ? limit.int(in: 1...1 << 30) : 4096
        let first = try source.originalPositions(default: positions)
        guard kind == "longrope" else {
            // Numbers without effect are those of its converter.
            (original, longest) = positions / first <= 1 ? (first, positions) : (nil, nil)
            return
        }
        (original, longest) = (first, try Self.longest(source, original: first, positions: positions))
        let start = first / Self.block * Self.block
        let pairs = rotated / 2
        if start != first,
            try source.factors("long_factor", count: pairs) != source.factors("short_factor", count: pairs)
        {
            remarks.append(
                "CTranslate2 rotates by the long factors for texts of more than \(start) tokens, the model for those of more "
                    + "than \(first)")
        }
    }

    /// Returns the number of positions from which CTranslate2 computes the model's factor of cosine and sine: it takes the whole quotient
    /// by the original number.
    private static func longest(_ source: RotarySource, original: Int, positions: Int) throws -> Int {
        let growth = try source.positive("factor", default: Double(positions) / Double(original))
        let stated = source["attention_factor"]
        guard !stated.exists else {
            throw stated.error("CTranslate2 computes this factor from the numbers of positions")
        }
        if max(growth, 1) == Double(max(positions / original, 1)) { return positions }
        let whole = Int(max(growth, 1).rounded())
        guard Double(whole) == max(growth, 1), whole <= Int(Int32.max) / original else {
            let field = source["factor"]
            throw RequestError(
                "CTranslate2: it multiplies positions by whole numbers only, and the model by \(growth)"
                    + (field.exists
                        ? " (field \(field.path) of \(field.file))" : " (\(positions) of \(original) positions)"),
                status: .unavailable)
        }
        return whole * original
    }

    /// Adds the variables of one layer.
    /// - Parameters:
    ///   - attention: the name of the layer's attention.
    ///   - wholeHeads: heads that are rotated as a whole have their width instead of 0.
    func write(_ attention: String, wholeHeads: Bool, _ draft: inout CTranslate2Draft) throws {
        try draft.set("\(attention)/rotary_dim", int32: rotated == headWidth && !wholeHeads ? 0 : rotated)
        draft.set("\(attention)/rotary_interleave", .flag(false))
        draft.set("\(attention)/rotary_base", .float32(Float(base)))
        if let original { try draft.set("\(attention)/original_max_position_embeddings", int32: original) }
        if let longest { try draft.set("\(attention)/max_position_embeddings", int32: longest) }
        switch kind {
        case "linear":
            draft.set("\(attention)/rotary_scaling_type", .int8(0))
            draft.set("\(attention)/rotary_scaling_factor", .float32(Float(try source.positive("factor"))))
        case "longrope":
            draft.set("\(attention)/rotary_scaling_type", .int8(1))
            for name in ["long_factor", "short_factor"] {
                draft.add("\(attention)/rotary_scaling_\(name)", floats: try source.factors(name, count: rotated / 2))
            }
        case "llama3":
            draft.set("\(attention)/rotary_scaling_type", .int8(2))
            for (name, field) in [
                ("rotary_low_freq_factor", "low_freq_factor"), ("rotary_high_freq_factor", "high_freq_factor"),
                ("rotary_scaling_factor", "factor"),
            ] {
                draft.set("\(attention)/\(name)", .float32(Float(try source.positive(field))))
            }
        default: break
        }
    }
}
