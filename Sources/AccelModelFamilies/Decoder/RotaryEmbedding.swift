import AccelByteIO
import AccelPrograms

import func AccelPlatform.log
import func AccelPlatform.pow

/// A checked rotary position embedding: the frequency of each pair of elements.
///
/// Reads both dialects, `rope_parameters` and `rope_theta` with `rope_scaling`. Each kind becomes frequencies and a
/// factor on cosine and sine. Two kinds depend on the length of sequences, for which the cache length is used.
struct RotaryEmbedding: Equatable {
    /// The dependence of the frequencies on the cache length.
    enum Growth: Equatable {
        case none
        /// If the cache is longer than `beyond`, the frequencies `to` are used.
        case switching(to: [Float], beyond: Int)
        /// If the cache is longer than `beyond`, the base grows by `factor` for every further `beyond` positions.
        case stretching(factor: Double, beyond: Int)
    }
    /// The angle per position in radians, for each rotated pair of elements.
    let frequencies: [Float]
    let growth: Growth
    /// A factor of cosine and sine.
    let attentionFactor: Double

    /// The kinds by their names in configurations.
    static let kinds = ["default", "linear", "dynamic", "llama3", "yarn", "longrope", "proportional"]

    /// Reads a rotary embedding.
    /// - Throws: `FormatError` naming the field; `RequestError` (unavailable) for an unsupported kind.
    init(_ source: RotarySource, headWidth: Int, positions: Int) throws {
        let (kind, name, field) = try source.kind()
        guard source.kinds.contains(kind) else {
            throw RequestError(
                "\(field.file), field \(field.path): rotary embeddings of type \(quoted(name)) are not supported "
                    + "(supported: \(source.kinds.joined(separator: ", ")))", status: .unavailable)
        }
        let base = try source.base()
        let share = try source.share(kind)
        if kind == "proportional" {
            self.init(try Self.proportional(headWidth: headWidth, share: share, base: base, source))
            return
        }
        let width = Int(min(Double(headWidth) * share, Double(headWidth) + 1))
        let original = try source.originalPositions(default: positions)
        guard width >= 2, (width + 1) / 2 * 2 <= headWidth else {
            throw source["partial_rotary_factor"].error(
                "\(share) of heads of \(headWidth) is not an even width to rotate")
        }
        let powers = (0..<(width + 1) / 2).map { pow(Float(base), Float(2 * $0) / Float(width)) }
        let plain = powers.map { 1 / $0 }

        switch kind {
        case "linear":
            let factor = Float(try source.positive("factor"))
            self.init(plain.map { $0 / factor })
        case "dynamic":
            guard width > 2 else { throw field.error("\"\(name)\" cannot rotate \(width) elements") }
            self.init(plain, .stretching(factor: try source.positive("factor"), beyond: positions))
        case "llama3":
            self.init(try Self.llama3(plain, original: original, source))
        case "yarn":
            let factor = try source.positive("factor", default: Double(positions) / Double(original))
            self.init(
                try Self.yarn(powers, width: width, base: base, factor: factor, original: original, source),
                attentionFactor: try Self.yarnAttention(factor, source))
        case "longrope":
            let long = try source.factors("long_factor", count: powers.count)
            let short = try source.factors("short_factor", count: powers.count)
            let factor = try source.positive("factor", default: Double(positions) / Double(original))
            let attention = factor <= 1 || original == 1 ? 1 : (1 + log(factor) / log(Double(original))).squareRoot()
            self.init(
                zip(short, powers).map { 1 / ($0 * $1) },
                .switching(to: zip(long, powers).map { 1 / ($0 * $1) }, beyond: original),
                attentionFactor: try source.positive("attention_factor", default: attention))
        default:
            self.init(plain)
        }
    }

    private init(_ frequencies: [Float], _ growth: Growth = .none, attentionFactor: Double = 1) {
        (self.frequencies, self.growth, self.attentionFactor) = (frequencies, growth, attentionFactor)
    }

    /// Returns the frequencies of whole heads, of which the pairs beyond a share are not rotated.
    private static func proportional(
        headWidth: Int, share: Double, base: Double, _ source: RotarySource
    ) throws -> [Float] {
        let (pairs, factor) = (headWidth / 2, Float(try source.positive("factor", default: 1)))
        guard headWidth % 2 == 0, share <= 1 else {
            throw source["partial_rotary_factor"].error(
                "\(share) of heads of \(headWidth) is not a whole number of pairs")
        }
        let rotated = Int((share * Double(headWidth) / 2).rounded(.down))
        return (0..<pairs).map { $0 < rotated ? 1 / pow(Float(base), Float(2 * $0) / Float(headWidth)) / factor : 0 }
    }

    /// Returns the effects of the cache length.
    func remarks(upTo longest: Int) -> [Program.FreeDimension.Remark] {
        func beyond(_ positions: Int, _ text: String) -> [Program.FreeDimension.Remark] {
            positions < longest ? [.init(positions + 1...longest, text)] : []
        }
        switch growth {
        case .none: return []
        case .switching(_, let original):
            return [
                .init(1...original, "rotary embeddings by the short factors, which are for up to \(original) positions")
            ]
                + beyond(original, "rotary embeddings by the long factors, for more than \(original) positions")
        case .stretching(_, let original):
            return beyond(
                original, "rotary embeddings of a base stretched for this length, beyond \(original) positions")
        }
    }

    /// Divides the frequencies of slow pairs by the factor, keeps those of fast pairs, and interpolates between them
    /// (Llama 3).
    private static func llama3(_ plain: [Float], original: Int, _ source: RotarySource) throws -> [Float] {
        let factor = Float(try source.positive("factor"))
        let (low, high) = (try source.positive("low_freq_factor"), try source.positive("high_freq_factor"))
        guard high > low else { throw source["high_freq_factor"].error("\(high) is not above \(low)") }
        return plain.map { frequency in
            let wavelength = Float(2 * Double.pi) / frequency
            if wavelength > Float(Double(original) / low) { return frequency / factor }
            if wavelength < Float(Double(original) / high) { return frequency }
            let smooth = (Float(original) / wavelength - Float(low)) / Float(high - low)
            return (1 - smooth) * frequency / factor + smooth * frequency
        }
    }

    /// Interpolates between the plain frequencies and those divided by the factor, by the number of rotations that a
    /// pair makes within the original positions (YaRN, Peng et al., 2023).
    private static func yarn(
        _ powers: [Float], width: Int, base: Double, factor: Double, original: Int, _ source: RotarySource
    ) throws -> [Float] {
        guard base != 1 else { throw source["rope_theta"].error("must not be 1, because all pairs would rotate alike") }
        func pair(rotating rotations: Double) -> Double {
            Double(width) * log(Double(original) / (rotations * 2 * .pi)) / (2 * log(base))
        }
        var low = pair(rotating: try source.positive("beta_fast", default: 32))
        var high = pair(rotating: try source.positive("beta_slow", default: 1))
        if try source.truncates() {
            (low, high) = (low.rounded(.down), high.rounded(.up))
        }
        (low, high) = (max(low, 0), min(high, Double(width - 1)))
        if low == high { high += 0.001 }
        return powers.enumerated().map { index, power in
            let ramp = min(max((Float(index) - Float(low)) / Float(high - low), 0), 1)
            let kept = 1 - ramp
            return 1 / (Float(factor) * power) * (1 - kept) + 1 / power * kept
        }
    }

    private static func yarnAttention(_ factor: Double, _ source: RotarySource) throws -> Double {
        func scale(_ weight: Double) -> Double { factor <= 1 ? 1 : 0.1 * weight * log(factor) + 1 }
        var inferred = scale(1)
        let (one, all) = (source["mscale"], source["mscale_all_dim"])
        if one.exists, all.exists {
            inferred = scale(try source.positive("mscale")) / scale(try source.positive("mscale_all_dim"))
        }
        return try source.positive("attention_factor", default: inferred)
    }
}
