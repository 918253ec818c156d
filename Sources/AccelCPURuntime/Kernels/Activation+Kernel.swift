import AccelPrograms
import CAccelKernels

extension Activation {
    /// Replaces each value by its activation.
    func apply(to values: UnsafeMutablePointer<Float>, count: Int) {
        switch self {
        case .none: break
        case .relu: for index in 0..<count where values[index] < 0 { values[index] = 0 }
        case .geluErf: ck_gelu_erf(values, count)
        case .geluTanh: ck_gelu_tanh(values, count)
        case .geluQuick: ck_gelu_quick(values, count)
        case .tanh: ck_tanh(values, count)
        case .sigmoid: ck_sigmoid(values, count)
        case .silu: ck_silu(values, count)
        }
    }
}
