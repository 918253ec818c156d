import AccelTensors

/// A block of a tensor: on each axis, `sizes[axis]` elements starting at `begin[axis]`.
public struct Slice: ViewOperator {
    public static let name = "slice"
    /// The first index on each axis.
    public var begin: [Dimension]
    /// The number of elements on each axis.
    public var sizes: [Dimension]

    /// Creates the operator. Both lists have one number per axis.
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
            throw OperatorError(
                "expected one begin and one size per axis of \(input), found \(begin.count) and \(sizes.count)")
        }
        for axis in 0..<input.rank {
            // Free sizes are checked again after freezing.
            guard let first = begin[axis].value, let size = sizes[axis].value, let bound = input.dimensions[axis].value
            else { continue }
            let (end, overflow) = first.addingReportingOverflow(size)
            guard first >= 0, size >= 0, !overflow, end <= bound else {
                throw OperatorError(
                    "axis \(axis): \(size) elements starting at \(first) exceed the \(bound) elements of \(input)")
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
