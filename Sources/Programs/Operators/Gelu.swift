import Foundation

/// `gelu(x) = x * Phi(x)`, exactly or in one of the approximations that checkpoints are trained with. Elementwise.
public struct Gelu: UnaryOperator {
    public enum Kind: String, CaseIterable, Sendable {
        /// `x * (1 + erf(x / sqrt(2))) / 2`
        case erf
        /// `x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) / 2`
        case tanh
        /// `x * sigmoid(1.702 x)`
        case quick
    }
    public static let name = "gelu"
    public var kind: Kind

    public init(_ kind: Kind) { self.kind = kind }
    public init(attributes: Attributes) throws { kind = try attributes.choice("kind", as: Kind.self) }
    public var attributes: Attributes { ["kind": .word(kind.rawValue)] }

    public func apply(_ x: Double) -> Double {
        switch kind {
        case .erf: x * 0.5 * erfc(-x * 0.5.squareRoot())
        case .tanh: x * 0.5 * (1 + Foundation.tanh((2 / Double.pi).squareRoot() * (x + 0.044715 * x * x * x)))
        case .quick: x / (1 + exp(-1.702 * x))
        }
    }
}
