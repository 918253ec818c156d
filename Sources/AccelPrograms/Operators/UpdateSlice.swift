import AccelTensors

/// Replacement of a block of a tensor, at a position on one axis that is known at run time only. It writes caches.
///
/// Inputs: target [...] of any element type; block, equal in every dimension but `axis`, where it is not larger; and
/// the position of the block's first element on that axis, I64[] or I64[1], or I64[N] with one position per index of
/// axis 0. Output as target.
public struct UpdateSlice: Operator {
    public static let name = "update_slice"
    public static let readsStrided = true
    public static let updatesInPlace = true
    /// The axis that the position is on, from 0.
    public var axis: Int

    /// Creates the operator for one axis.
    public init(axis: Int) { self.axis = axis }
    public init(attributes: Attributes) throws { axis = try attributes.integer("axis", in: 0...7) }
    public var attributes: Attributes { ["axis": .integer(axis)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        let type = inputs.first?.elementType ?? .float32
        try inputs.require(3...3, types: [type, type, .int64])
        let (target, block, place) = (inputs[0], inputs[1], inputs[2])
        try target.require(rank: axis + 1...8, "target")
        try block.require(rank: target.rank...target.rank, "block")
        for other in 0..<target.rank where other != axis {
            try requireEqual(block.dimensions[other], target.dimensions[other], "block, axis \(other)")
        }
        if let room = target.dimensions[axis].value, let extent = block.dimensions[axis].value, extent > room {
            throw OperatorError("a block of \(extent) does not fit the \(room) of axis \(axis) of \(target)")
        }
        try place.require(rank: 0...1, "place")
        if let count = place.dimensions.first, count != 1 {
            guard axis != 0, count == target.dimensions[0] else {
                throw OperatorError("place: expected 1 or one for each of axis 0 of \(target), found \(place)")
            }
        }
        return [target]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let (extents, places) = (inputs[0].shape.dimensions, inputs[2].integers)
        let (room, extent) = (extents[axis], inputs[1].shape.dimensions[axis])
        for place in places where place < 0 || place > Int64(room - extent) {
            throw OperatorError("a block of \(extent) at \(place) lies outside of the \(room) of axis \(axis)")
        }
        let (outer, inner) = (extents[..<axis].reduce(1, *), extents[(axis + 1)...].reduce(1, *))
        let rowsAPlace = outer / max(places.count, 1)
        func updated<Element>(_ target: [Element], _ block: [Element]) -> [Element] {
            var result = target
            for row in 0..<(places.isEmpty ? 0 : outer) {
                let start = (row * room + Int(places[row / rowsAPlace])) * inner
                let count = extent * inner
                result.replaceSubrange(start..<start + count, with: block[row * count..<(row + 1) * count])
            }
            return result
        }
        return switch inputs[0].elements {
        case .float32(let target): [HostTensor(updated(target, inputs[1].floats), inputs[0].shape)]
        case .int64(let target): [HostTensor(updated(target, inputs[1].integers), inputs[0].shape)]
        case .bool(let target): [HostTensor(updated(target, inputs[1].flags), inputs[0].shape)]
        }
    }
}
