import AccelTensors

/// An operator that maps the elements of two float32 tensors, pair by pair, broadcasting as numpy does.
public protocol BinaryOperator: Operator {
    init()
    /// The reference meaning, computed in float64 and rounded once.
    func apply(_ x: Double, _ y: Double) -> Double
}

extension BinaryOperator {
    public static var inputs: [OperatorInput] { [.x, .y] }
    public init(attributes: Attributes) throws { self.init() }
    public var attributes: Attributes { [:] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        return [TensorType(.float32, try broadcast(inputs.map(\.dimensions)))]
    }
    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let shape = try broadcastShape(inputs)
        let (x, y) = (inputs[0].expanded(to: shape).floats, inputs[1].expanded(to: shape).floats)
        return [HostTensor(zip(x, y).map { Float(apply(Double($0), Double($1))) }, shape)]
    }
}

/// The extents that all of `operands` broadcast to: aligned at the last axis, an extent of 1 takes any other.
/// - Throws: `OperatorError` naming the axis.
func broadcast(_ operands: [[Dimension]]) throws -> [Dimension] {
    let rank = operands.map(\.count).max() ?? 0
    return try (0..<rank).map { axis in
        let extents = operands.compactMap { operand in
            let own = axis - (rank - operand.count)
            return own < 0 ? nil : operand[own]
        }
        let wide = extents.first { $0 != .fixed(1) } ?? .fixed(1)
        if let other = extents.first(where: { $0 != .fixed(1) && $0 != wide }) {
            throw OperatorError("axis \(axis): extents \(wide) and \(other) do not broadcast")
        }
        return wide
    }
}

func broadcastShape(_ operands: [HostTensor]) throws -> Shape {
    Shape(try broadcast(operands.map(\.type.dimensions)).compactMap(\.value))
}
