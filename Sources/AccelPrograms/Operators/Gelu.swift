import AccelPlatform

/// `gelu(x) = x * Phi(x)` (Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016), exactly or in one of the
/// approximations that checkpoints are trained with. Elementwise.
public struct Gelu: UnaryOperator {
    /// The formula.
    public enum Kind: String, CaseIterable, Sendable {
        /// `x * (1 + erf(x / sqrt(2))) / 2`
        case erf
        /// `x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) / 2`
        case tanh
        /// `x * sigmoid(1.702 x)`
        case quick
    }
    public static let name = "gelu"
    /// The formula.
    public var kind: Kind

    /// Creates the operator with one formula.
    public init(_ kind: Kind) { self.kind = kind }
    public init(attributes: Attributes) throws { kind = try attributes.choice("kind", as: Kind.self) }
    public var attributes: Attributes { ["kind": .word(kind.rawValue)] }

    public func apply(_ x: Double) -> Double {
        switch kind {
        case .erf: x * 0.5 * erfc(-x * 0.5.squareRoot())
        case .tanh: x * 0.5 * (1 + AccelPlatform.tanh((2 / Double.pi).squareRoot() * (x + 0.044715 * x * x * x)))
        case .quick: x / (1 + exp(-1.702 * x))
        }
    }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        let x = inputs[0]
        func times(_ value: Value, _ factor: Double) throws -> Value {
            try builder.apply(Multiply(), [value, builder.literal(Float(factor))])
        }
        let gate: Value
        switch kind {
        case .quick:
            gate = try builder.apply(Sigmoid(), [try times(x, 1.702)])
        case .erf:
            gate = try builder.apply(Erf(), [try times(x, 0.5.squareRoot())])
        case .tanh:
            let square = try builder.apply(Multiply(), [x, x])
            let cubic = try times(try builder.apply(Multiply(), [square, x]), 0.044715)
            let sum = try builder.apply(Add(), [x, cubic])
            gate = try builder.apply(Tanh(), [try times(sum, (2 / Double.pi).squareRoot())])
        }
        if kind == .quick { return [try builder.apply(Multiply(), [x, gate])] }
        let half = try times(x, 0.5)
        return [try builder.apply(Multiply(), [half, try builder.apply(Add(), [gate, builder.literal(1)])])]
    }
}
