import AccelTensors

/// An operator on pairs of elements of two float32 tensors, with the broadcasting of numpy.
public protocol BinaryOperator: Operator {
    /// Creates the operator, which has no attributes.
    init()
    /// Computes the reference result for one pair, in float64; the caller rounds it once.
    func apply(_ x: Double, _ y: Double) -> Double
}

extension BinaryOperator {
    public static var inputs: [OperatorInput] { [.x, .y] }
    public static var rounding: ResultRounding { .exact }
    public init(attributes: Attributes) throws { self.init() }
    public var attributes: Attributes { [:] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        return [TensorType(.float32, try broadcast(inputs.map(\.dimensions)))]
    }
    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let shape = try broadcastShape(inputs)
        let (x, y) = (inputs[0], inputs[1])
        let floats = shape.broadcasting(x.floats, x.shape, y.floats, y.shape) { Float(apply(Double($0), Double($1))) }
        return [HostTensor(floats, shape)]
    }
}

/// Returns the dimensions that all of `operands` broadcast to: aligned at the last axis, where a size of 1 fits any
/// other.
/// - Throws: `OperatorError` naming the axis.
func broadcast(_ operands: [[Dimension]]) throws -> [Dimension] {
    let rank = operands.map(\.count).max() ?? 0
    return try (0..<rank).map { axis in
        let sizes = operands.compactMap { operand in
            let own = axis - (rank - operand.count)
            return own < 0 ? nil : operand[own]
        }
        let wide = sizes.first { $0 != .fixed(1) } ?? .fixed(1)
        if let other = sizes.first(where: { $0 != .fixed(1) && $0 != wide }) {
            throw OperatorError("axis \(axis): sizes \(wide) and \(other) do not broadcast")
        }
        return wide
    }
}

/// Returns the shape that all of `operands` broadcast to.
func broadcastShape(_ operands: [HostTensor]) throws -> Shape {
    Shape(try broadcast(operands.map(\.type.dimensions)).compactMap(\.value))
}
