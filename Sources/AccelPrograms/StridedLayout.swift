public import AccelTensors

/// The layout of a tensor in memory: element `[i, j, ...]` is at `offset + i * strides[0] + j * strides[1] + ...`, in
/// elements.
public struct StridedLayout: Hashable, Sendable {
    /// The index of the first element, in elements of the storage.
    public var offset: Int
    /// The sizes of the axes.
    public var shape: Shape
    /// The distance between neighbours along each axis, in elements; 0 repeats one element.
    public var strides: [Int]

    /// Creates a layout; without strides it is row-major and contiguous.
    public init(offset: Int = 0, shape: Shape, strides: [Int]? = nil) {
        self.offset = offset
        self.shape = shape
        self.strides = strides ?? shape.strides
    }

    /// The elements are row-major without gaps, at any offset. An axis of size 1 may have any stride.
    public var isContiguous: Bool {
        zip(shape.dimensions, zip(strides, shape.strides)).allSatisfy { $0 == 1 || $1.0 == $1.1 }
    }

    /// The largest element index of the layout; nil if it overflows or if the layout goes below zero; -1 if it is
    /// empty.
    public var lastElement: Int? {
        if shape.dimensions.contains(0) { return -1 }
        var last = offset
        for (size, stride) in zip(shape.dimensions, strides) {
            guard stride >= 0, size > 0 else { return nil }
            let (distance, overflow) = (size - 1).multipliedReportingOverflow(by: stride)
            let (sum, overflow2) = last.addingReportingOverflow(distance)
            guard !overflow, !overflow2 else { return nil }
            last = sum
        }
        return offset >= 0 ? last : nil
    }
}
