import AccelTensors

/// Concatenation along an axis. Inputs: one or more tensors of one element type, equal in every other dimension.
public struct Concat: Operator {
    public static let name = "concat"
    public static let rounding = ResultRounding.exact
    public static let inputs: [OperatorInput] = [OperatorInput("x", .sameAsFirst, presence: .repeated)]
    /// The axis to concatenate on, from 0.
    public var axis: Int

    /// Creates the operator for one axis.
    public init(axis: Int) { self.axis = axis }
    public init(attributes: Attributes) throws { axis = try attributes.integer("axis", in: 0...7) }
    public var attributes: Attributes { ["axis": .integer(axis)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        guard var result = inputs.first else { throw OperatorError("expected 1 or more inputs, found 0") }
        try Self.check(inputs)
        try result.require(rank: axis + 1...8, "input 0")
        for (index, input) in inputs.enumerated().dropFirst() {
            try input.require(rank: result.rank...result.rank, "input \(index)")
            for other in 0..<result.rank where other != axis {
                try requireEqual(input.dimensions[other], result.dimensions[other], "input \(index), axis \(other)")
            }
            result.dimensions[axis] = result.dimensions[axis] + input.dimensions[axis]
        }
        return [result]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        var shape = inputs[0].shape
        shape.dimensions[axis] = inputs.reduce(0) { $0 + $1.shape.dimensions[axis] }
        let outer = shape.dimensions[..<axis].reduce(1, *)
        func joined<Element>(_ parts: [[Element]]) -> [Element] {
            let widths = parts.map { outer == 0 ? 0 : $0.count / outer }
            return (0..<outer).flatMap { row in
                zip(parts, widths).flatMap { part, width in part[row * width..<(row + 1) * width] }
            }
        }
        return switch inputs[0].elements {
        case .float32: [HostTensor(joined(inputs.map(\.floats)), shape)]
        case .float16: [HostTensor(.float16(joined(inputs.map(\.floats))), shape)]
        case .int8: [HostTensor(.int8(joined(inputs.map(\.bytes))), shape)]
        case .int64: [HostTensor(joined(inputs.map(\.integers)), shape)]
        case .bool: [HostTensor(joined(inputs.map(\.flags)), shape)]
        }
    }
}
