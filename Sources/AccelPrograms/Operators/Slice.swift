import AccelTensors

/// A box out of a tensor: on each axis, `sizes[axis]` elements from `begin[axis]` on.
public struct Slice: ViewOperator {
    public static let name = "slice"
    public var begin: [Dimension]
    public var sizes: [Dimension]

    public init(begin: [Dimension], sizes: [Dimension]) {
        self.begin = begin
        self.sizes = sizes
    }
    public init(attributes: Attributes) throws {
        begin = try attributes.dimensions("begin")
        sizes = try attributes.dimensions("sizes")
    }
    public var attributes: Attributes { ["begin": .dimensions(begin), "sizes": .dimensions(sizes)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        let input = inputs[0]
        guard begin.count == input.rank, sizes.count == input.rank else {
            throw OperatorError("has \(begin.count) begins and \(sizes.count) sizes for \(input)")
        }
        for axis in 0..<input.rank {
            // What is still free is checked again once it is a number.
            guard let first = begin[axis].value, let size = sizes[axis].value, let extent = input.dimensions[axis].value
            else { continue }
            let (end, overflow) = first.addingReportingOverflow(size)
            guard first >= 0, size >= 0, !overflow, end <= extent else {
                throw OperatorError(
                    "axis \(axis): \(size) elements from \(first) on lie outside of the \(extent) of \(input)")
            }
        }
        return [TensorType(input.elementType, sizes)]
    }

    public func view(of input: StridedLayout) -> StridedLayout? {
        let first = begin.compactMap(\.value)
        guard first.count == input.strides.count else { return nil }
        return StridedLayout(
            offset: zip(first, input.strides).reduce(input.offset) { $0 + $1.0 * $1.1 },
            shape: Shape(sizes.compactMap(\.value)), strides: input.strides)
    }
}
