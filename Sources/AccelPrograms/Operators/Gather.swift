import AccelTensors

/// Rows of a table by index: `y[i..., r...] = table[indices[i...], r...]`.
///
/// Inputs: table [N, R...] of any element type, indices I64[I...]. Output: [I..., R...].
public struct Gather: Operator {
    public static let name = "gather"
    public static let rounding = ResultRounding.exact
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
        case .int8(let bytes): [HostTensor(.int8(rows(bytes)), shape)]
        case .int64(let integers): [HostTensor(rows(integers), shape)]
        case .bool(let flags): [HostTensor(rows(flags), shape)]
        }
    }
}

extension Gather: StreamingOperator {
    package func evaluate(streaming operands: [ReferenceOperand]) throws -> [HostTensor] {
        guard case .rows(let table) = operands[0], table.shape.rank > 1, table.shape.count > 0 else {
            return try evaluate(operands.map(\.tensor))
        }
        // Of a table of the rows that are there, each once.
        let (indices, limit) = (operands[1].tensor, table.shape.dimensions[0])
        let known = Set(indices.integers.compactMap { Int(exactly: $0) }).filter { 0..<limit ~= $0 }.sorted()
        let positions = Dictionary(uniqueKeysWithValues: zip(known, 0...))
        var floats: [Float] = []
        for row in known { floats += table.floats(row..<row + 1) }
        // An index out of range stays one, and is reported as that.
        guard indices.integers.allSatisfy({ Int(exactly: $0).map { positions[$0] != nil } ?? false }) else {
            return try evaluate(operands.map(\.tensor))
        }
        let own = indices.integers.map { Int64(positions[Int($0)] ?? 0) }
        let rows = HostTensor(floats, Shape([known.count] + table.shape.dimensions.dropFirst()))
        return try evaluate([rows, HostTensor(own, indices.shape)])
    }
}
