/// The parts of a sound that are transcribed, one right after the other, and the way back to its times.
struct SpokenParts: Sendable {
    /// In samples of the sound.
    private let parts: [Range<Int>]
    /// For each part the samples of it and of those before.
    private let ends: [Int]
    private let rate: Int

    /// - Parameter ranges: in seconds, in order.
    init(_ ranges: [ClosedRange<Double>], sampleCount: Int, rate: Int) {
        func sample(_ seconds: Double) -> Int {
            Int(min(max((seconds * Double(rate)).rounded(), 0), Double(sampleCount)))
        }
        var end = 0
        parts = ranges.map { range in
            let start = max(sample(range.lowerBound), end)
            end = max(sample(range.upperBound), start)
            return start..<end
        }.filter { !$0.isEmpty }
        var sum = 0
        ends = parts.map { part in
            sum += part.count
            return sum
        }
        self.rate = rate
    }

    /// Returns the samples of all parts.
    func joined(_ samples: [Float]) -> [Float] { parts.flatMap { samples[$0] } }

    /// Returns the time of the sound for a time of the joined parts, in seconds.
    /// - Parameter isEnd: a time between two parts is the end of the first one, rather than the beginning of the second one.
    func time(_ seconds: Double, isEnd: Bool) -> Double {
        let sample = seconds * Double(rate)
        let index = ends.firstIndex { isEnd ? sample <= Double($0) : sample < Double($0) } ?? ends.indices.last
        guard let index else { return seconds }
        let before = ends[index] - parts[index].count
        return seconds + Double(parts[index].lowerBound - before) / Double(rate)
    }
}
