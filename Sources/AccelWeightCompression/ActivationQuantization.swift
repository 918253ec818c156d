import AccelByteIO

/// The rounding of activations before they are multiplied with a weight: `none`, `bfloat16`, or `int8` with options, such as
/// `int8:static,smooth=0.5`.
public struct ActivationQuantization: Hashable, Sendable {
    /// The numbers that activations are rounded to.
    public enum Numbers: String, Sendable {
        /// Activations stay float32.
        case none
        /// bfloat16; the weight is rounded to bfloat16, too.
        case bfloat16
        /// 8-bit integers with a scale and a zero point.
        case int8
    }

    /// Activations stay float32.
    public static let none = ActivationQuantization(.none)
    /// bfloat16, each element by itself.
    public static let bfloat16 = ActivationQuantization(.bfloat16)
    /// 8-bit integers with a scale and a zero point for each row (a token, a position), which are computed in each run:
    /// dynamic quantization.
    public static let int8 = ActivationQuantization(.int8)
    /// The forms in help and errors.
    package static let usage = "none, bfloat16, int8, int8:static, int8:smooth=ALPHA, int8:static,smooth=ALPHA"
    private static let usualSmoothing = "0.5"

    /// The numbers that activations are rounded to.
    public let numbers: Numbers
    /// One scale and zero point for all rows, fixed by samples: static quantization. For int8 only.
    public var isStatic = false
    /// Channels with large activations are divided, and columns of weights multiplied, by max|x|^a / max|w|^(1 - a), with
    /// this a between 0 and 1, where the graph allows it (SmoothQuant; Xiao et al., 2022); nil: they are not. For int8 only.
    public var smoothing: Double?

    private init(_ numbers: Numbers) { self.numbers = numbers }

    /// Reads a specification such as `int8:static`. `smooth` stands for `smooth=0.5`.
    /// - Throws: `RequestError` with the accepted forms.
    public init(_ specification: String) throws {
        let parts = specification.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let numbers = Numbers(rawValue: String(parts[0]))
        self.init(numbers ?? .none)
        var isValid = numbers != nil && (parts.count == 1 || numbers == .int8)
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
                "the rounding of activations \"\(specification)\" is none of \(Self.usage) with ALPHA between 0 and 1"
                    + suggestion(for: specification, among: ["none", "bfloat16", "int8", "int8:static", "int8:smooth"]))
        }
    }

    /// Activations are rounded.
    public var isRounded: Bool { numbers != .none }

    /// The canonical specification.
    public var specification: String {
        let options = (isStatic ? ["static"] : []) + (smoothing.map { ["smooth=\($0)"] } ?? [])
        return options.isEmpty ? numbers.rawValue : "\(numbers.rawValue):\(options.joined(separator: ","))"
    }

    /// Sample inputs decide something.
    public var needsSamples: Bool { isStatic || smoothing != nil }
}
