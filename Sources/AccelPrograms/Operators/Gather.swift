import AccelTensors

/// Rows of a table by index: `y[i..., r...] = table[indices[i...], r...]`.
///
/// Inputs: table [N, R...] of any element type, indices I64[I...]. Output: [I..., R...].
public struct Gather: Operator {
    public static let name = "gather"
    public static let inputs: [OperatorInput] = [OperatorInput("table", .any), OperatorInput("indices", .only(.int64))]
    /// Creates the operator, which has no attributes.
    public init() {}
    public init(attributes: Attributes) throws {}
    public var attributes: Attributes { [:] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        try inputs[0].require(rank: 1...8, "table")
        return [TensorType(inputs[0].elementType, inputs[1].dimensions + inputs[0].dimensions.dropFirst())]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let (table, limit) = (inputs[0], inputs[0].shape.dimensions[0])
        let indices = try inputs[1].integers.enumerated().map { position, index in
            guard index >= 0, index < limit else {
                throw OperatorError(
                    "index \(index) (element \(position) of the indices) is outside of the table's \(limit) rows")
            }
            return Int(index)
        }
        let shape = Shape(inputs[1].shape.dimensions + table.shape.dimensions.dropFirst())
        let width = table.shape.dimensions.dropFirst().reduce(1, *)
        func rows<Element>(_ elements: [Element]) -> [Element] {
            var result: [Element] = []
            result.reserveCapacity(indices.count * width)
            for index in indices { result.append(contentsOf: elements[index * width..<(index + 1) * width]) }
            return result
        }
        return switch table.elements {
        case .float32(let floats): [HostTensor(rows(floats), shape)]
        case .float16(let floats): [HostTensor(.float16(rows(floats)), shape)]
        case .int64(let integers): [HostTensor(rows(integers), shape)]
        case .bool(let flags): [HostTensor(rows(flags), shape)]
        }
    }
}
