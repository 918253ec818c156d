/// The use of activation statistics by a codec.
public enum CalibrationMethod: String, Sendable, CaseIterable {
    /// None: each weight becomes the nearest value of a grid or table fitted to the weights.
    case nearest
    /// The grid or table is fitted with errors weighted by the mean square of the inputs; codes are the nearest.
    case weighted
    /// GPTQ (Frantar et al., 2022): column by column, later columns compensate for the rounding errors of earlier ones.
    case gptq
    /// AWQ (Lin et al., 2023): columns with large inputs are multiplied by powers of two beforehand, and the producers
    /// of these inputs are divided by them; codes are the nearest. Applied only to weights whose outputs gain from it.
    case awq

    /// Codes depend on activation statistics; `awq` rescales the weight instead.
    public var usesStatistics: Bool { self == .weighted || self == .gptq }

    /// The option `method`, shared by codecs that support calibration by all methods.
    static let option = CodecOption(
        optionName, allowed: allCases.map(\.rawValue), default: nearest.rawValue,
        help: "weighted, gptq and awq reduce the error where activations are large; they need calibration data")

    /// The option `method` of codecs whose errors may count by the importance of columns, and that have no other calibration.
    static let importanceOption = CodecOption(
        optionName, allowed: [nearest, weighted].map(\.rawValue), default: nearest.rawValue,
        help:
            "weighted: errors count by the mean squares of activations, as an importance matrix of llama.cpp has them; "
            + "needs calibration data")

    /// The option `method` of types of ggml whose codes can be chosen by error feedback.
    static let blockOption = CodecOption(
        optionName, allowed: [nearest, weighted, gptq].map(\.rawValue), default: nearest.rawValue,
        help: importanceOption.help + "; gptq: later columns compensate for the errors of earlier ones")

    fileprivate static let optionName = "method"
}

extension CodecOptionValues {
    var method: CalibrationMethod { CalibrationMethod(rawValue: self[CalibrationMethod.optionName]) ?? .nearest }
}

extension WeightCodec {
    /// The use of activation statistics that the options select; `nearest` for codecs without calibration.
    public var method: CalibrationMethod { values.method }

    /// The same codec without calibration.
    public var dataFree: any WeightCodec { using(.nearest) }

    /// The codec has the option `method`.
    public var supportsCalibration: Bool { values.options.contains { $0.name == CalibrationMethod.optionName } }

    /// Returns the same codec with another method; the codec itself if it, or one of its options, does not support that one.
    public func using(_ method: CalibrationMethod) -> any WeightCodec {
        let option = values.options.first { $0.name == CalibrationMethod.optionName }
        guard let option, option.allowed.contains(method.rawValue), method != self.method else { return self }
        // Options that exclude the method, such as the search of another tool, keep the codec.
        return (try? Self(values.replacing(option.name, by: method.rawValue))) ?? self
    }
}
