import AccelByteIO

/// The distribution of absolute errors: counts by magnitude, fine enough for quantiles and a histogram.
///
/// A bucket holds the errors whose float32 value agrees in exponent and the first seven bits of the mantissa, so a
/// quantile is exact to 1/128 of its value. Counts are integers: parts merge to the same result in any order. Only
/// buckets with errors take memory: there are at most as many as errors, and seldom more than some thousand.
public struct ErrorDistribution: Equatable, Sendable {
    private static let bucketCount = 1 << 15

    /// The upper 16 bits of the float32 values of the buckets with errors, ascending.
    private var buckets: [UInt16] = []
    /// The counts of `buckets`.
    private var counts: [UInt32] = []
    /// The number of recorded errors.
    public private(set) var count = 0

    /// Creates a distribution without errors.
    public init() {}

    /// Records errors.
    /// - Parameter record: counts each in the bucket of its upper 16 bits, and returns their number.
    mutating func record(_ record: (UnsafeMutablePointer<UInt32>) -> Int) {
        let all = Self.allBuckets.take()
        defer { Self.allBuckets.put(all) }
        let dense = all.bytes.bindMemory(to: UInt32.self)
        guard let start = dense.baseAddress else { return }
        add(to: start)
        count += record(start)
        collect(dense)
    }

    mutating func merge(_ other: ErrorDistribution) {
        guard count > 0 else {
            self = other
            return
        }
        record {
            other.add(to: $0)
            return other.count
        }
    }

    private func add(to dense: UnsafeMutablePointer<UInt32>) {
        for (bucket, number) in zip(buckets, counts) { dense[Int(bucket)] &+= number }
    }

    /// Takes over the counts of all buckets, and clears them.
    private mutating func collect(_ dense: UnsafeMutableBufferPointer<UInt32>) {
        buckets.removeAll(keepingCapacity: true)
        counts.removeAll(keepingCapacity: true)
        let group = 16
        for first in stride(from: 0, to: dense.count, by: group) {
            var isUsed: UInt32 = 0
            for index in first..<first + group { isUsed |= dense[index] }
            guard isUsed != 0 else { continue }
            for index in first..<first + group where dense[index] > 0 {
                buckets.append(UInt16(index))
                counts.append(dense[index])
                dense[index] = 0
            }
        }
    }

    /// Zeroed memory for all buckets, one for each thread that records at the same time.
    private static let allBuckets = BucketMemory()
    private final class BucketMemory: Sendable {
        private let unused = Locked<[ByteBuffer]>([])

        func take() -> ByteBuffer {
            unused.withLock { $0.popLast() } ?? ByteBuffer(count: bucketCount * MemoryLayout<UInt32>.stride)
        }

        /// - Parameter buffer: zeroed again.
        func put(_ buffer: ByteBuffer) { unused.withLock { $0.append(buffer) } }
    }

    /// Returns the error that a fraction `quantile` of the elements does not exceed, rounded up to the end of its
    /// bucket; 0 if nothing was recorded.
    public func quantile(_ quantile: Double) -> Double {
        let wanted = Int((quantile * Double(count)).rounded(.up))
        var seen = 0
        for (bucket, number) in zip(buckets, counts) {
            seen += Int(number)
            if seen >= wanted {
                return bucket == 0 ? 0 : Double(Float(bitPattern: UInt32(bucket) << 16 | 0xFFFF))
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
        for (bucket, number) in zip(buckets, counts) where bucket > 0 {
            let value = Double(Float(bitPattern: UInt32(bucket) << 16))
            byExponent[decimalExponent(of: value), default: 0] += Int(number)
        }
        var bars: [Bar] = []
        if buckets.first == 0 { bars.append(Bar(exponent: nil, count: Int(counts[0]))) }
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
