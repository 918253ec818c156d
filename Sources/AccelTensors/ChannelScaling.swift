/// Powers of two for the rows and columns of a tensor. The scaling is exact in every floating-point type as long as no
/// element leaves the type's range. A vector counts as one row.
public struct ChannelScaling: Equatable, Sendable {
    /// The exponent of each row; empty for no scaling.
    public var rows: [Int]
    /// The exponent of each column; empty for no scaling.
    public var columns: [Int]

    /// Creates a scaling from exponents.
    public init(rows: [Int] = [], columns: [Int] = []) { (self.rows, self.columns) = (rows, columns) }

    /// The scaling that undoes it.
    public var inverse: ChannelScaling { ChannelScaling(rows: rows.map { -$0 }, columns: columns.map { -$0 }) }

    /// The supported exponents: the product of two factors in this range is a normal number.
    public static let exponents = -32...32

    /// Returns 2 to the power of an exponent.
    public static func factor(_ exponent: Int) -> Float { Float(sign: .plus, exponent: exponent, significand: 1) }

    /// Multiplies some rows in place.
    /// - Parameter values: `range.count` rows with equal numbers of columns.
    public func apply(to values: UnsafeMutableBufferPointer<Float>, rows range: Range<Int>) {
        guard let start = values.baseAddress, !range.isEmpty else { return }
        let width = values.count / range.count
        let factors = columns.map(Self.factor)
        for (index, row) in range.enumerated() {
            let line = start + index * width
            let factor = rows.isEmpty ? 1 : Self.factor(rows[row])
            if factors.isEmpty {
                for column in 0..<width { line[column] *= factor }
            } else {
                for column in 0..<width { line[column] *= factor * factors[column] }
            }
        }
    }
}
