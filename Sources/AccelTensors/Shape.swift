/// The shape of a tensor: its sizes, the outermost first. A scalar has none.
public struct Shape: Hashable, Sendable, ExpressibleByArrayLiteral, CustomStringConvertible {
    /// The sizes, from the outermost to the innermost dimension.
    public var dimensions: [Int]

    /// Creates a shape; nothing is checked.
    public init(_ dimensions: [Int]) { self.dimensions = dimensions }
    public init(arrayLiteral elements: Int...) { self.init(elements) }

    /// The number of dimensions.
    public var rank: Int { dimensions.count }
    /// The number of elements: 1 for a scalar.
    public var count: Int {
        var product = 1
        for axis in 0..<rank { product *= dimensions[axis] }
        return product
    }
    /// The number of elements; nil if a dimension is negative, or if the number or a stride overflows (even if another
    /// dimension is zero).
    public var checkedCount: Int? {
        var count = 1
        for dimension in dimensions {
            let (product, overflow) = count.multipliedReportingOverflow(by: max(dimension, 1))
            guard dimension >= 0, !overflow else { return nil }
            count = product
        }
        return dimensions.contains(0) ? 0 : count
    }
    /// The row-major strides in elements.
    public var strides: [Int] {
        var strides = [Int](repeating: 1, count: rank)
        for axis in stride(from: rank - 2, through: 0, by: -1) {
            strides[axis] = strides[axis + 1] * dimensions[axis + 1]
        }
        return strides
    }
    public var description: String { "[\(dimensions.map(String.init).joined(separator: ","))]" }
}
