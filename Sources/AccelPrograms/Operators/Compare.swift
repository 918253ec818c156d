import AccelTensors

/// Compares two tensors of one element type (F32 or I64) element by element, broadcasting. Output: BOOL.
/// A comparison with NaN is false, except `not_equal`.
public struct Compare: Operator {
    /// The relation that is tested.
    public enum Relation: String, CaseIterable, Sendable {
        /// `x == y`
        case equal
        /// `x != y`
        case notEqual = "not_equal"
        /// `x < y`
        case less
        /// `x <= y`
        case lessOrEqual = "less_or_equal"
        /// `x > y`
        case greater
        /// `x >= y`
        case greaterOrEqual = "greater_or_equal"
    }
    public static let name = "compare"
    public static let rounding = ResultRounding.exact
    public static let inputs: [OperatorInput] = [
        OperatorInput("x", .oneOf([.float32, .int64])), OperatorInput("y", .sameAsFirst),
    ]
    /// The relation of the first input to the second.
    public var relation: Relation

    /// Creates the operator for one relation.
    public init(_ relation: Relation) { self.relation = relation }
    public init(attributes: Attributes) throws { relation = try attributes.choice("relation", as: Relation.self) }
    public var attributes: Attributes { ["relation": .word(relation.rawValue)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        return [TensorType(.bool, try broadcast(inputs.map(\.dimensions)))]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let shape = try broadcastShape(inputs)
        let (x, y) = (inputs[0], inputs[1])
        return switch x.elements {
        case .int64(let integers):
            [HostTensor(shape.broadcasting(integers, x.shape, y.integers, y.shape, holds), shape)]
        default: [HostTensor(shape.broadcasting(x.floats, x.shape, y.floats, y.shape, holds), shape)]
        }
    }

    func holds<Element: Comparable>(_ x: Element, _ y: Element) -> Bool {
        switch relation {
        case .equal: x == y
        case .notEqual: x != y
        case .less: x < y
        case .lessOrEqual: x <= y
        case .greater: x > y
        case .greaterOrEqual: x >= y
        }
    }
}
