import AccelTensors

/// Replacement of a block of a tensor, at a position on one axis that is known at run time only. It writes caches.
///
/// Inputs: target [...] of any element type; block, equal in every dimension but `axis`, where it is not larger; and
/// the position of the block's first element on that axis, I64[] or I64[1], or I64[N] with one position per index of
/// axis 0. Output as target.
public struct UpdateSlice: Operator {
    public static let name = "update_slice"
    public static let rounding = ResultRounding.exact
    public static let inputs: [OperatorInput] = [
        OperatorInput("target", .any), OperatorInput("block", .sameAsFirst), OperatorInput("position", .only(.int64)),
    ]
    /// The axis that the position is on, from 0.
    public var axis: Int

    /// Creates the operator for one axis.
    public init(axis: Int) { self.axis = axis }
    public init(attributes: Attributes) throws { axis = try attributes.integer("axis", in: 0...7) }
    public var attributes: Attributes { ["axis": .integer(axis)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        let (target, block, position) = (inputs[0], inputs[1], inputs[2])
        try target.require(rank: axis + 1...8, "target")
        try block.require(rank: target.rank...target.rank, "block")
        for other in 0..<target.rank where other != axis {
            try requireEqual(block.dimensions[other], target.dimensions[other], "block, axis \(other)")
        }
        if let size = target.dimensions[axis].value, let length = block.dimensions[axis].value, length > size {
            throw OperatorError(
                "a block of \(length) elements does not fit axis \(axis) of \(target), which has \(size)")
        }
        try position.require(rank: 0...1, "position")
        if let count = position.dimensions.first, count != 1 {
            guard axis != 0, count == target.dimensions[0] else {
                throw OperatorError(
                    "position: expected one, or one per index of axis 0 of \(target), found \(position)")
            }
        }
        return [target]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let (dimensions, positions) = (inputs[0].shape.dimensions, inputs[2].integers)
        let (size, length) = (dimensions[axis], inputs[1].shape.dimensions[axis])
        for position in positions where position < 0 || position > Int64(size - length) {
            throw OperatorError(
                "a block of \(length) elements at position \(position) exceeds axis \(axis), which has \(size)")
        }
        let (outer, inner) = (dimensions[..<axis].reduce(1, *), dimensions[(axis + 1)...].reduce(1, *))
        let rowsPerPosition = outer / max(positions.count, 1)
        func updated<Element>(_ target: [Element], _ block: [Element]) -> [Element] {
            var result = target
            for row in 0..<(positions.isEmpty ? 0 : outer) {
                let start = (row * size + Int(positions[row / rowsPerPosition])) * inner
                let count = length * inner
                result.replaceSubrange(start..<start + count, with: block[row * count..<(row + 1) * count])
            }
            return result
        }
        return switch inputs[0].elements {
        case .float32(let target): [HostTensor(updated(target, inputs[1].floats), inputs[0].shape)]
        case .float16(let target): [HostTensor(.float16(updated(target, inputs[1].floats)), inputs[0].shape)]
        case .int8(let target): [HostTensor(.int8(updated(target, inputs[1].bytes)), inputs[0].shape)]
        case .int64(let target): [HostTensor(updated(target, inputs[1].integers), inputs[0].shape)]
        case .bool(let target): [HostTensor(updated(target, inputs[1].flags), inputs[0].shape)]
        }
    }
}
