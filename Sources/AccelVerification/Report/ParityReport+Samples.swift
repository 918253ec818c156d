import AccelByteIO

extension ParityReport {
    /// Records that functions run several times, on one sample of the inputs after the other.
    mutating func countRuns(_ count: Int) {
        if count > functions.count { inputs += "; \(Wording.count(count, "run"))" }
    }

    /// Records that functions take some of the samples only, because the others are too long for them.
    mutating func leaveOut(_ functions: [(function: String, taken: Int, samples: Int)]) {
        for (function, taken, samples) in functions {
            inputs += "; \(function) on the \(taken) of \(samples) samples that are short enough for it"
        }
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
