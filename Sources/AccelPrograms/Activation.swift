/// An elementwise function that a pass may fuse into the operator before it.
public enum Activation: String, CaseIterable, Sendable {
    case none
    case relu
    case geluErf = "gelu_erf"
    case geluTanh = "gelu_tanh"
    case geluQuick = "gelu_quick"
    case tanh
    case sigmoid
    case silu

    /// The operator that it stands for; nil for none.
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

    /// The activation that stands for `operation`, if there is one.
    public init?(fusing operation: any Operator) {
        guard
            let activation = Activation.allCases.first(where: { candidate in
                guard let fused = candidate.operation else { return false }
                return fused.name == operation.name && fused.attributes == operation.attributes
            })
        else { return nil }
        self = activation
    }

    public func apply(_ x: Float) -> Float {
        guard let operation else { return x }
        return Float(operation.apply(Double(x)))
    }
}
