public import AccelTensors

/// How a tensor lies in memory: element `[i, j, ...]` is at `offset + i * strides[0] + j * strides[1] + ...`, in elements.
public struct StridedLayout: Hashable, Sendable {
    public var offset: Int
    public var shape: Shape
    public var strides: [Int]

    public init(offset: Int = 0, shape: Shape, strides: [Int]? = nil) {
        self.offset = offset
        self.shape = shape
        self.strides = strides ?? shape.strides
    }

    /// Row-major without gaps, wherever it starts. Extents of 1 may have any stride.
    public var isContiguous: Bool {
        zip(shape.dimensions, zip(strides, shape.strides)).allSatisfy { $0 == 1 || $1.0 == $1.1 }
    }

    /// The largest element index that it touches, nil when it overflows or goes below zero, -1 when it is empty.
    public var lastElement: Int? {
        if shape.dimensions.contains(0) { return -1 }
        var last = offset
        for (extent, stride) in zip(shape.dimensions, strides) {
            guard stride >= 0, extent > 0 else { return nil }
            let (distance, overflow) = (extent - 1).multipliedReportingOverflow(by: stride)
            let (sum, overflow2) = last.addingReportingOverflow(distance)
            guard !overflow, !overflow2 else { return nil }
            last = sum
        }
        return offset >= 0 ? last : nil
    }
}
