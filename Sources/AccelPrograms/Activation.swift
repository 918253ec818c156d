/// An elementwise function that a pass may fuse into the operator before it.
public enum Activation: String, CaseIterable, Sendable {
    /// The identity.
    case none
    /// `Relu`
    case relu
    /// The exact `Gelu`.
    case geluErf = "gelu_erf"
    /// `Gelu` in its tanh approximation.
    case geluTanh = "gelu_tanh"
    /// `Gelu` in its sigmoid approximation.
    case geluQuick = "gelu_quick"
    /// `Tanh`
    case tanh
    /// `Sigmoid`
    case sigmoid
    /// `Silu`
    case silu

    /// The fused operator as an operator of its own; nil for `none`.
    public var operation: (any UnaryOperator)? {
        switch self {
        case .none: nil
        case .relu: Relu()
        case .geluErf: Gelu(.erf)
        case .geluTanh: Gelu(.tanh)
        case .geluQuick: Gelu(.quick)
        case .tanh: Tanh()
        case .sigmoid: Sigmoid()
        case .silu: Silu()
        }
    }

    /// Finds the activation whose operator has the name and the attributes of `operation`; nil if it cannot be fused.
    public init?(fusing operation: any Operator) {
        guard
            let activation = Activation.allCases.first(where: { candidate in
                guard let fused = candidate.operation else { return false }
                return fused.name == operation.name && fused.attributes == operation.attributes
            })
        else { return nil }
        self = activation
    }

    /// Returns the activation of one element, computed in float64 and rounded once.
    public func apply(_ x: Float) -> Float {
        guard let operation else { return x }
        return Float(operation.apply(Double(x)))
    }
}
