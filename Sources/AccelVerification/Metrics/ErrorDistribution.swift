/// The distribution of absolute errors: counts by magnitude, fine enough for quantiles and a histogram.
///
/// A bucket holds the errors whose float32 value agrees in exponent and the first seven bits of the mantissa, so a
/// quantile is exact to 1/128 of its value. Counts are integers: parts merge to the same result in any order.
public struct ErrorDistribution: Equatable, Sendable {
    private static let bucketCount = 1 << 15

    /// Counts by the upper 16 bits of the float32 value; empty until an error is recorded.
    private var buckets: [UInt32] = []
    /// The number of recorded errors.
    public private(set) var count = 0

    /// Creates a distribution without errors.
    public init() {}

    /// Records errors.
    /// - Parameter count: their number.
    /// - Parameter record: counts each in the bucket of its upper 16 bits.
    mutating func record(_ count: Int, _ record: (UnsafeMutablePointer<UInt32>) -> Void) {
        if buckets.isEmpty { buckets = [UInt32](repeating: 0, count: Self.bucketCount) }
        buckets.withUnsafeMutableBufferPointer { $0.baseAddress.map(record) }
        self.count += count
    }

    mutating func merge(_ other: ErrorDistribution) {
        count += other.count
        if other.buckets.isEmpty { return }
        if buckets.isEmpty {
            buckets = other.buckets
        } else {
            for index in buckets.indices { buckets[index] &+= other.buckets[index] }
        }
    }

    /// Returns the error that a fraction `quantile` of the elements does not exceed, rounded up to the end of its
    /// bucket; 0 if nothing was recorded.
    public func quantile(_ quantile: Double) -> Double {
        let wanted = Int((quantile * Double(count)).rounded(.up))
        var seen = 0
        for index in buckets.indices where buckets[index] > 0 {
            seen += Int(buckets[index])
            if seen >= wanted {
                return index == 0 ? 0 : Double(Float(bitPattern: UInt32(index) << 16 | 0xFFFF))
            }
        }
        return 0
    }

    /// A bar of the histogram: errors from `10^exponent` up to the next power of ten; `exponent` is nil for errors of
    /// exactly zero.
    public struct Bar: Equatable, Sendable {
        /// The power of ten of the lower bound; nil for errors of exactly zero.
        public let exponent: Int?
        /// The number of errors in the bar.
        public let count: Int
    }

    /// Counts by power of ten, ascending and without gaps; errors of exactly zero come first.
    public var decades: [Bar] {
        var byExponent: [Int: Int] = [:]
        for (index, number) in buckets.enumerated() where number > 0 && index > 0 {
            let value = Double(Float(bitPattern: UInt32(index) << 16))
            byExponent[decimalExponent(of: value), default: 0] += Int(number)
        }
        var bars: [Bar] = []
        if let zeros = buckets.first, zeros > 0 { bars.append(Bar(exponent: nil, count: Int(zeros))) }
        if let lowest = byExponent.keys.min(), let highest = byExponent.keys.max() {
            bars += (lowest...highest).map { Bar(exponent: $0, count: byExponent[$0] ?? 0) }
        }
        return bars
    }

    /// Returns floor(log10(value)). It compares with powers of ten, so that the rounding of a logarithm decides no
    /// bucket.
    private func decimalExponent(of value: Double) -> Int {
        var exponent = 0
        var power = 1.0
        if value.isInfinite { return 39 }
        while value >= power * 10 {
            power *= 10
            exponent += 1
        }
        while value < power, exponent > -60 {
            power /= 10
            exponent -= 1
        }
        return exponent
    }
}
