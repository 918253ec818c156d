/// How it is used what is known of a weight's inputs.
public enum CalibrationMethod: String, Sendable, CaseIterable {
    /// Not at all: each weight becomes the nearest value of a grid or table that fits the weights.
    case nearest
    /// A grid or table that fits the weights as much as their inputs are large; codes are the nearest.
    case weighted
    /// GPTQ: column by column, what one column's rounding spoils in the outputs the columns after it make good.
    case gptq
    /// AWQ: columns whose inputs are large are multiplied by powers of two before, and what makes the inputs is divided by
    /// them; the codes are the nearest. Only for weights of which that serves the outputs.
    case awq

    /// Whether codes depend on what the weight's inputs are like. (By `awq` the weight does.)
    public var isToldOfInputs: Bool { self == .weighted || self == .gptq }

    /// The option, the same for every codec that has a use for it.
    static let option = CodecOption(
        "method", allowed: allCases.map(\.rawValue), default: nearest.rawValue,
        help: "weighted, gptq and awq make up for rounding where the model's inputs are large; they need --calibrate")
}

extension CodecOptionValues {
    var method: CalibrationMethod { CalibrationMethod(rawValue: self["method"]) ?? .nearest }
}

extension WeightCodec {
    /// How it uses statistics of a weight's inputs.
    public var method: CalibrationMethod { values.method }

    /// The same codec without statistics.
    public var dataFree: any WeightCodec { using(.nearest) }

    /// Whether it has a use for statistics.
    public var hasMethod: Bool { Self.options.contains(CalibrationMethod.option) }

    /// The same codec with another method; itself where it has no use for statistics.
    public func using(_ method: CalibrationMethod) -> any WeightCodec {
        guard hasMethod, method != self.method else { return self }
        // Options that go together still do: none of them asks for a method.
        return (try? Self(values.replacing("method", by: method.rawValue))) ?? self
    }
}
