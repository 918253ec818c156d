/// The rounding of activations before they are multiplied with a weight.
public enum ActivationQuantization: String, CaseIterable, Sendable {
    /// Activations stay float32.
    case none
    /// 8-bit integers with a scale and a zero point for each row (a token, a position), which are computed in each run:
    /// dynamic quantization.
    case int8
}
