import ByteIO
import Foundation
import Programs

/// What a configuration says of rotary position embeddings, checked: how fast each pair of elements turns.
///
/// Both dialects are read: `rope_parameters`, and `rope_theta` with `rope_scaling`. Every kind comes down to frequencies
/// and a factor on cosine and sine; two kinds depend on how long sequences get, for which the cache's length stands.
struct RotaryEmbedding: Equatable {
    /// How the length of the cache changes the frequencies.
    enum Growth: Equatable {
        case none
        /// Beyond `original` places, `long` is used in place of the frequencies.
        case switching(to: [Float], beyond: Int)
        /// Beyond `original` places, the base grows, by `factor` for each further `original` places.
        case stretching(factor: Double, beyond: Int)
    }
    /// Radians a place, for each pair of elements that turns.
    let frequencies: [Float]
    let growth: Growth
    /// Multiplies cosine and sine.
    let attentionFactor: Double

    /// The names that configurations give the kinds.
    static let kinds = ["default", "linear", "dynamic", "llama3", "yarn", "longrope", "proportional"]

    /// - Parameters:
    ///   - parameters: the object that describes it; may be missing.
    ///   - config: the whole configuration, which has what `parameters` does not say.
    ///   - thetaField: what the base is called in `config`.
    ///   - theta: the base, where neither says.
    ///   - aliases: kinds that stand for another.
    /// - Throws: `FormatError` naming the field; `RequestError` (unavailable) for a kind that is not supported.
    init(
        _ parameters: JSONField, of config: JSONField, headWidth: Int, thetaField: String = "rope_theta",
        theta defaultTheta: Double, aliases: [String: String] = [:]
    ) throws {
        let field = parameters["rope_type"].exists ? parameters["rope_type"] : parameters["type"]
        let name = field.exists ? try field.string() : "default"
        let kind = aliases[name] ?? name
        guard Self.kinds.contains(kind) else {
            throw RequestError(
                "\(field.file), field \(field.path): rotary embeddings of type \"\(name)\" are not supported "
                    + "(supported: \(Self.kinds.joined(separator: ", ")))", status: .unavailable)
        }
        let reader = Reader(parameters: parameters, config: config, thetaField: thetaField)
        let base = try reader.positive("rope_theta", default: defaultTheta)
        let share = try reader.positive("partial_rotary_factor", default: 1)
        if kind == "proportional" {
            self.init(try Self.proportional(headWidth: headWidth, share: share, base: base, reader))
            return
        }
        let width = Int(min(Double(headWidth) * share, Double(headWidth) + 1))
        let places = try config["max_position_embeddings"].int(in: 1...1 << 30, default: 2048)
        let original = try reader.originalPlaces(default: places)
        guard width >= 2, (width + 1) / 2 * 2 <= headWidth else {
            throw parameters["partial_rotary_factor"].error(
                "\(share) of heads of \(headWidth) is no even width to turn")
        }
        let powers = (0..<(width + 1) / 2).map { pow(Float(base), Float(2 * $0) / Float(width)) }
        let plain = powers.map { 1 / $0 }

        switch kind {
        case "linear":
            let factor = Float(try reader.positive("factor"))
            self.init(plain.map { $0 / factor })
        case "dynamic":
            guard width > 2 else { throw field.error("\"\(name)\" cannot turn \(width) elements") }
            self.init(plain, .stretching(factor: try reader.positive("factor"), beyond: places))
        case "llama3":
            self.init(try Self.llama3(plain, original: original, reader))
        case "yarn":
            let factor = try reader.positive("factor", default: Double(places) / Double(original))
            self.init(
                try Self.yarn(powers, width: width, base: base, factor: factor, original: original, reader),
                attentionFactor: try Self.yarnAttention(factor, reader))
        case "longrope":
            let long = try reader.factors("long_factor", count: powers.count)
            let short = try reader.factors("short_factor", count: powers.count)
            let factor = try reader.positive("factor", default: Double(places) / Double(original))
            let attention = factor <= 1 || original == 1 ? 1 : (1 + log(factor) / log(Double(original))).squareRoot()
            self.init(
                zip(short, powers).map { 1 / ($0 * $1) },
                .switching(to: zip(long, powers).map { 1 / ($0 * $1) }, beyond: original),
                attentionFactor: try reader.positive("attention_factor", default: attention))
        default:
            self.init(plain)
        }
    }

    private init(_ frequencies: [Float], _ growth: Growth = .none, attentionFactor: Double = 1) {
        (self.frequencies, self.growth, self.attentionFactor) = (frequencies, growth, attentionFactor)
    }

    /// The frequencies of whole heads, of which the pairs beyond a share do not turn at all.
    private static func proportional(
        headWidth: Int, share: Double, base: Double, _ reader: Reader
    ) throws -> [Float] {
        let (pairs, factor) = (headWidth / 2, Float(try reader.positive("factor", default: 1)))
        guard headWidth % 2 == 0, share <= 1 else {
            throw reader.parameters["partial_rotary_factor"].error(
                "\(share) of heads of \(headWidth) is no number of pairs")
        }
        let turning = Int((share * Double(headWidth) / 2).rounded(.down))
        return (0..<pairs).map { $0 < turning ? 1 / pow(Float(base), Float(2 * $0) / Float(headWidth)) / factor : 0 }
    }

    /// What the length of the cache decides.
    func remarks(upTo longest: Int) -> [Program.FreeDimension.Remark] {
        func beyond(_ places: Int, _ text: String) -> [Program.FreeDimension.Remark] {
            places < longest ? [.init(places + 1...longest, text)] : []
        }
        switch growth {
        case .none: return []
        case .switching(_, let original):
            return [
                .init(1...original, "rotary embeddings by the short factors, which are for up to \(original) places")
            ]
                + beyond(original, "rotary embeddings by the long factors, for more than \(original) places")
        case .stretching(_, let original):
            return beyond(
                original, "rotary embeddings of a base stretched for this length, beyond \(original) places")
        }
    }

    /// Slow pairs turn slower by the factor, fast ones do not, and those between in between.
    private static func llama3(_ plain: [Float], original: Int, _ reader: Reader) throws -> [Float] {
        let factor = Float(try reader.positive("factor"))
        let (low, high) = (try reader.positive("low_freq_factor"), try reader.positive("high_freq_factor"))
        guard high > low else { throw reader.parameters["high_freq_factor"].error("\(high) is not above \(low)") }
        return plain.map { frequency in
            let wavelength = Float(2 * Double.pi) / frequency
            if wavelength > Float(Double(original) / low) { return frequency / factor }
            if wavelength < Float(Double(original) / high) { return frequency }
            let smooth = (Float(original) / wavelength - Float(low)) / Float(high - low)
            return (1 - smooth) * frequency / factor + smooth * frequency
        }
    }

    /// Between the plain frequencies and those by the factor, by how many turns a pair makes in the original places.
    private static func yarn(
        _ powers: [Float], width: Int, base: Double, factor: Double, original: Int, _ reader: Reader
    ) throws -> [Float] {
        guard base != 1 else { throw reader.parameters["rope_theta"].error("1 turns all pairs alike") }
        func pair(turning turns: Double) -> Double {
            Double(width) * log(Double(original) / (turns * 2 * .pi)) / (2 * log(base))
        }
        var low = pair(turning: try reader.positive("beta_fast", default: 32))
        var high = pair(turning: try reader.positive("beta_slow", default: 1))
        if try reader.parameters["truncate"].bool(default: true) {
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

    private static func yarnAttention(_ factor: Double, _ reader: Reader) throws -> Double {
        func scale(_ weight: Double) -> Double { factor <= 1 ? 1 : 0.1 * weight * log(factor) + 1 }
        var inferred = scale(1)
        if reader.parameters["mscale"].exists, reader.parameters["mscale_all_dim"].exists {
            let (one, all) = (try reader.positive("mscale"), try reader.positive("mscale_all_dim"))
            inferred = scale(one) / scale(all)
        }
        return try reader.positive("attention_factor", default: inferred)
    }
}

/// Reads numbers of rotary embeddings: from their own object, else from the whole configuration.
private struct Reader {
    let parameters: JSONField
    let config: JSONField
    let thetaField: String

    private func find(_ name: String) -> JSONField {
        if parameters[name].exists { return parameters[name] }
        return switch name {
        case "rope_theta": config[thetaField]
        case "partial_rotary_factor": config[name]
        default: parameters[name]
        }
    }

    /// - Parameter other: what a missing number is; nil when it has to be there.
    func positive(_ name: String, default other: Double? = nil) throws -> Double {
        let field = find(name)
        if let other, !field.exists { return other }
        let number = try field.double()
        guard number > 0, number <= 1e12 else { throw field.error("\(number) is outside of 0...1e12") }
        return number
    }

    func factors(_ name: String, count: Int) throws -> [Float] {
        let elements = try parameters[name].array()
        guard elements.count == count else {
            throw parameters[name].error("expected \(count) numbers, one a pair of elements, found \(elements.count)")
        }
        return try elements.map { element in
            let number = try element.double()
            guard number > 0, number <= 1e12 else { throw element.error("\(number) is outside of 0...1e12") }
            return Float(number)
        }
    }

    /// A number beside the object counts before one in it.
    func originalPlaces(default other: Int) throws -> Int {
        let name = "original_max_position_embeddings"
        let field = config[name].exists ? config[name] : parameters[name]
        return try field.int(in: 1...1 << 30, default: other)
    }
}
