import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// Runs of a part's samples with one weight replaced at a time. Each continues from the inputs of the replaced weight, which are
/// computed once for all replacements of it.
struct IsolatedRuns {
    private let run: SampleRun
    private let part: Program
    private let reference: ReferenceOutputs

    /// Runs the samples with the original weights.
    init(_ samples: CalibrationSamples, threads: Int) throws {
        part = samples.part
        run = try SampleRun(samples, threads: threads)
        reference = try ReferenceOutputs(of: run)
    }

    /// Visits those of the weights that the part reads, in the order of execution.
    /// - Parameters:
    ///   - wantsStatistics: collects the activation statistics of multiplied weights.
    ///   - body: gets a weight, its statistics, and a function that returns the error that a replacement of this weight alone adds to
    ///     the outputs (`SampleRun.error`).
    func forEach(
        of sources: [StoredTensor], wantsStatistics: Bool = false,
        _ body: (StoredTensor, ActivationStatistics?, (CompressedTensor) throws -> Double) throws -> Void
    ) throws {
        var left = Dictionary(sources.map { ($0.name, $0) }) { first, _ in first }
        run.restart()
        var shared: ActivationStatistics?
        for (index, name) in run.weights.enumerated() {
            if !run.sharesInput(withWeightBefore: index) { shared = nil }
            guard let source = left.removeValue(forKey: name) else { continue }
            try run.run(to: index)
            if wantsStatistics { shared = try shared ?? run.statistics(of: index) }
            if run.isRead(name, before: index) {
                // What earlier calls made of it changes, too.
                try body(source, shared, wholeRun)
            } else {
                try body(source, shared) { tensor in
                    try run.replace(tensor)
                    return try run.error(from: reference)
                }
            }
            try restore(source)
        }
        for source in sources where left[source.name] != nil && run.reads(source.name) {
            try body(source, nil, wholeRun)
            try restore(source)
        }
    }

    /// Returns the error of the outputs with a replacement, of a run from the inputs on.
    private func wholeRun(_ tensor: CompressedTensor) throws -> Double {
        try run.replace(tensor)
        run.restart()
        return try run.error(from: reference)
    }

    private func restore(_ source: StoredTensor) throws {
        try run.replace(CompressedTensor.compressing(source, with: Codecs.codec("stored"), threads: 1).tensor)
    }
}
