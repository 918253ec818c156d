import AccelByteIO

extension ParityReport {
    /// Records that functions run several times, on one sample of the inputs after the other.
    mutating func countRuns(_ count: Int) {
        if count > functions.count { inputs += "; \(Wording.count(count, "run"))" }
    }

    /// Records that a function takes some of the samples only, because the others are too long for it.
    /// - Parameters:
    ///   - taken: the samples of each run.
    ///   - count: the samples of the file; nil for no samples.
    mutating func leaveOut(_ function: String, taken: [Int], of count: Int?) {
        let own = taken.reduce(0, +)
        guard let count, own < count else { return }
        inputs += "; \(function) on the \(own) of \(count) samples that are short enough for it"
    }

    /// Joins what the runs of a function on several samples found for each output: as if they were one tensor.
    mutating func joinSamples() {
        var joined: [OutputFinding] = []
        for row in outputs {
            let index = joined.firstIndex { $0.isSame(as: row) }
            if let index { joined[index] = joined[index].joining(row) } else { joined.append(row) }
        }
        outputs = joined
        notCompared = notCompared.enumerated().filter { index, item in
            !notCompared[..<index].contains(item)
        }.map(\.element)
    }
}
