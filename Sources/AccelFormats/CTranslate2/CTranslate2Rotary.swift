import AccelByteIO
import AccelTensors

/// The rotary embeddings of a decoder as CTranslate2's attention reads them.
///
/// Its converter leaves out the factor of Llama 3's kind, and the width of Phi 3's where a part of each head is rotated:
/// CTranslate2 then computes something else than the model. They are written here.
struct CTranslate2Rotary {
    private let base: Double
    private let kind: String
    private let parameters: JSONField
    private let config: JSONField
    private let headWidth: Int
    /// The rotated elements of each head.
    private let rotated: Int
    private let isPhi: Bool

    /// Reads `rope_parameters`, or `rope_theta` with `rope_scaling`.
    /// - Throws: `RequestError` for a kind that CTranslate2 lacks; `FormatError`.
    init(_ config: JSONField, base other: Double, width: Int, isPhi: Bool) throws {
        let parameters = config["rope_parameters"].exists ? config["rope_parameters"] : config["rope_scaling"]
        let named = parameters["type"].exists ? parameters["type"] : parameters["rope_type"]
        let name = try named.exists ? named.string() : "default"
        let kinds = isPhi ? ["default", "longrope", "su"] : ["default", "linear", "llama3"]
        guard kinds.contains(name) else {
            throw RequestError(
                "CTranslate2: it has no rotary embeddings of the kind \(quoted(name)), for which the field \(named.path) of "
                    + "\(config.file) asks (there is \(kinds.joined(separator: ", ")))")
        }
        let theta = config["rope_theta"].exists ? config["rope_theta"] : parameters["rope_theta"]
        base = try theta.exists ? theta.double() : other
        let field = config["partial_rotary_factor"]
        let share = field.exists ? field : parameters["partial_rotary_factor"]
        rotated = try share.exists ? Int((Double(width) * min(max(share.double(), 0), 1)).rounded(.down)) : width
        guard rotated > 0, rotated % 2 == 0 else {
            throw share.error("CTranslate2 rotates an even number of elements of each head, not \(rotated) of \(width)")
        }
        kind = name == "su" ? "longrope" : name
        if kind == "longrope", parameters["attention_factor"].exists {
            throw parameters["attention_factor"].error("CTranslate2 computes this factor from the numbers of positions")
        }
        (self.parameters, self.config, self.isPhi, headWidth) = (parameters, config, isPhi, width)
    }

    /// Adds the variables of one layer.
    /// - Parameters:
    ///   - attention: the name of the layer's attention.
    ///   - wholeHeads: heads that are rotated as a whole have their width instead of 0.
    func write(_ attention: String, wholeHeads: Bool, _ draft: inout CTranslate2Draft) throws {
        try draft.set("\(attention)/rotary_dim", int32: rotated == headWidth && !wholeHeads ? 0 : rotated)
        draft.set("\(attention)/rotary_interleave", .flag(false))
        draft.set("\(attention)/rotary_base", .float32(Float(base)))
        if isPhi {
            try draft.set("\(attention)/original_max_position_embeddings", int32: originalPositions)
            let longest = config["max_position_embeddings"]
            try draft.set("\(attention)/max_position_embeddings", int32: longest.exists ? longest.int() : 4096)
        }
        switch kind {
        case "linear":
            draft.set("\(attention)/rotary_scaling_type", .int8(0))
            draft.set("\(attention)/rotary_scaling_factor", .float32(Float(try parameters["factor"].double())))
        case "longrope":
            draft.set("\(attention)/rotary_scaling_type", .int8(1))
            for name in ["long_factor", "short_factor"] {
                let factors = try parameters[name].array().map { Float(try $0.double()) }
                guard factors.count == rotated / 2 else {
                    throw parameters[name].error("expected \(rotated / 2) factors, found \(factors.count)")
                }
                draft.add("\(attention)/rotary_scaling_\(name)", floats: factors)
            }
        case "llama3":
            draft.set("\(attention)/rotary_scaling_type", .int8(2))
            for (name, field) in [
                ("rotary_low_freq_factor", "low_freq_factor"), ("rotary_high_freq_factor", "high_freq_factor"),
                ("rotary_scaling_factor", "factor"),
            ] {
                draft.set("\(attention)/\(name)", .float32(Float(try parameters[field].double())))
            }
            try draft.set("\(attention)/original_max_position_embeddings", int32: originalPositions)
        default: break
        }
    }

    private var originalPositions: Int {
        get throws {
            let name = "original_max_position_embeddings"
            let field = config[name].exists ? config[name] : parameters[name]
            let other = isPhi ? JSONField(4096, file: config.file) : config["max_position_embeddings"]
            return try (field.exists ? field : other).int(in: 1...Int(Int32.max))
        }
    }
}
