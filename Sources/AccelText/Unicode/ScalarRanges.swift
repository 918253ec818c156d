/// Ascending, disjoint ranges of Unicode scalars: the form in which sets are combined.
struct ScalarRanges: Equatable, Sendable {
    /// First scalar, scalar after the last, and so on.
    private(set) var bounds: [UInt32]

    /// One more than the largest scalar.
    static let limit: UInt32 = 0x110000

    init() { bounds = [] }

    init(_ scalars: ClosedRange<UInt32>) { bounds = [scalars.lowerBound, scalars.upperBound + 1] }

    /// - Parameter list: ranges of a table of `CAccelUnicode`.
    init(table list: UnsafeBufferPointer<UInt32>) { bounds = Array(list) }

    /// - Parameter ranges: in any order, and possibly overlapping.
    init(_ ranges: [Range<UInt32>]) {
        bounds = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) where !range.isEmpty {
            if let last = bounds.last, range.lowerBound <= last {
                bounds[bounds.count - 1] = max(last, range.upperBound)
            } else {
                bounds += [range.lowerBound, range.upperBound]
            }
        }
    }

    var ranges: [Range<UInt32>] {
        stride(from: 0, to: bounds.count, by: 2).map { bounds[$0]..<bounds[$0 + 1] }
    }

    var isEmpty: Bool { bounds.isEmpty }

    func union(_ other: ScalarRanges) -> ScalarRanges { ScalarRanges(ranges + other.ranges) }

    func inverted() -> ScalarRanges {
        var result = ScalarRanges()
        var start: UInt32 = 0
        for range in ranges {
            if start < range.lowerBound { result.bounds += [start, range.lowerBound] }
            start = range.upperBound
        }
        if start < Self.limit { result.bounds += [start, Self.limit] }
        return result
    }

    func intersection(_ other: ScalarRanges) -> ScalarRanges {
        inverted().union(other.inverted()).inverted()
    }

    func contains(_ scalar: UInt32) -> Bool {
        var (low, high) = (0, bounds.count)
        while low < high {
            let middle = (low + high) / 2
            if bounds[middle] <= scalar { low = middle + 1 } else { high = middle }
        }
        return low % 2 == 1
    }
}
