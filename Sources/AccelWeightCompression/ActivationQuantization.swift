import AccelByteIO

/// The rounding of activations before they are multiplied with a weight: `none`, or `int8` with options, such as
/// `int8:static,smooth=0.5`.
public struct ActivationQuantization: Hashable, Sendable {
    /// Activations stay float32.
    public static let none = ActivationQuantization(isRounded: false)
    /// 8-bit integers with a scale and a zero point for each row (a token, a position), which are computed in each run:
    /// dynamic quantization.
    public static let int8 = ActivationQuantization(isRounded: true)
    /// The forms in help and errors.
    package static let usage = "none, int8, int8:static, int8:smooth=ALPHA, int8:static,smooth=ALPHA"
    private static let usualSmoothing = "0.5"

    /// Activations are 8-bit integers.
    public let isRounded: Bool
    /// One scale and zero point for all rows, fixed by samples: static quantization.
    public var isStatic = false
    /// Channels with large activations are divided, and columns of weights multiplied, by max|x|^a / max|w|^(1 - a), with
    /// this a between 0 and 1, where the graph allows it (SmoothQuant; Xiao et al., 2022); nil: they are not.
    public var smoothing: Double?

    private init(isRounded: Bool) { self.isRounded = isRounded }

    /// Reads a specification such as `int8:static`. `smooth` stands for `smooth=0.5`.
    /// - Throws: `RequestError` with the accepted forms.
    public init(_ specification: String) throws {
        let parts = specification.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        self.init(isRounded: parts[0] == "int8")
        var isValid = isRounded || specification == "none"
        for option in parts.count == 2 ? parts[1].split(separator: ",", omittingEmptySubsequences: false) : [] {
            let sides = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            if option == "static", !isStatic {
                isStatic = true
            } else if sides[0] == "smooth", smoothing == nil {
                let strength = CodecOption.Free.share.canonical(sides.count == 2 ? sides[1] : Self.usualSmoothing)
                smoothing = strength.flatMap(Double.init)
                isValid = isValid && smoothing != nil
            } else {
                isValid = false
            }
        }
        guard isValid else {
            throw RequestError(
                "the rounding of activations \"\(specification)\" is none of \(Self.usage) with ALPHA between 0 and 1")
        }
    }

    /// The canonical specification.
    public var specification: String {
        guard isRounded else { return "none" }
        let options = (isStatic ? ["static"] : []) + (smoothing.map { ["smooth=\($0)"] } ?? [])
        return options.isEmpty ? "int8" : "int8:\(options.joined(separator: ","))"
    }

    /// Sample inputs decide something.
    public var needsSamples: Bool { isStatic || smoothing != nil }
}
