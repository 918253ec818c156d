import AccelByteIO
import AccelPrograms
import AccelTensors
public import AccelWeightCompression

/// The errors of the outputs of all samples of a part, with some weights replaced, against the original weights.
final class JointError {
    /// The name of the part.
    var part: String { samples.part.name }
    fileprivate let samples: CalibrationSamples
    private let run: SampleRun
    private let reference: ReferenceOutputs

    init(_ samples: CalibrationSamples, threads: Int) throws {
        self.samples = samples
        run = try SampleRun(samples, threads: threads)
        reference = try ReferenceOutputs(of: run)
    }

    /// Returns the errors of the outputs.
    /// - Parameters:
    ///   - weights: all weights that differ from the original.
    ///   - links: what the parts before have made with these weights; takes what this one makes for others.
    func errors(with weights: [CompressedTensor], _ links: inout LinkedValues) throws -> SampledErrors {
        for tensor in weights { try run.replace(tensor) }
        for name in samples.linked.sorted() {
            if let value = links[name] { run.feed(name, value) }
        }
        run.restart()
        let found = try run.finish(comparing: reference, keeping: links.outputs(of: samples.part))
        links.add(found.outputs, of: samples.part)
        return found.errors
    }
}

extension [JointError] {
    /// Returns the outputs of all parts with some weights replaced.
    func outputs(with weights: [CompressedTensor]) throws -> SampledOutputs {
        var links = LinkedValues(map(\.samples.part))
        return SampledOutputs(
            try map { (name: $0.part, errors: try $0.errors(with: weights, &links)) },
            heldOut: map(\.samples).heldOutCount)
    }
}

extension [CalibrationSamples] {
    /// The number of samples that are held out of each part; 0 if there are too few, or if a part's inputs have no row for each.
    var heldOutCount: Int {
        allSatisfy(\.isDivided) ? map { $0.count / CalibrationSamples.heldOutShare }.min() ?? 0 : 0
    }

    /// Measures the outputs over all samples, with some weights replaced.
    /// - Parameters:
    ///   - weights: the weights that differ from the parts'; others of their names have to have the parts' shapes.
    ///   - finished: runs of the same samples that weights were compressed by. They are continued, and then no longer there.
    public func outputs(
        with weights: [CompressedTensor], after finished: FinishedRuns? = nil, threads: Int
    ) throws -> SampledOutputs {
        if count == 1, let part = first, let errors = try finished?.errors(of: part, with: weights) {
            return SampledOutputs([(name: part.part.name, errors: errors)], heldOut: heldOutCount)
        }
        // One part at a time: the samples of all parts together may need too much memory.
        var links = LinkedValues(map(\.part))
        return SampledOutputs(
            try map { samples in
                let judge = try JointError(samples, threads: threads)
                return (name: judge.part, errors: try judge.errors(with: weights, &links))
            }, heldOut: heldOutCount)
    }
}

/// The runs of a model of one part by which its weights were compressed: its outputs are measured from where they have stopped.
public final class FinishedRuns: Sendable {
    // One thread at a time has the runs: who takes them out.
    private struct Runs: @unchecked Sendable {
        let original: SampleRun
        let compressed: SampleRun
        /// The errors that shares of the work have measured, and the digest of the weights.
        let errors: SampledErrors?
        let weights: Digest?
    }
    private let runs = Locked<Runs?>(nil)

    /// Creates a place for runs.
    public init() {}

    func store(
        original: SampleRun, compressed: SampleRun, _ errors: SampledErrors? = nil, of weights: Digest? = nil
    ) {
        let stopped = Runs(original: original, compressed: compressed, errors: errors, weights: weights)
        runs.withLock { $0 = stopped }
    }

    /// Returns the errors of the outputs with some weights replaced, against the original model; nil if there are no runs, or if they
    /// have replaced other weights.
    func errors(of samples: CalibrationSamples, with weights: [CompressedTensor]) throws -> SampledErrors? {
        let taken = runs.withLock { stored in
            defer { stored = nil }
            return stored
        }
        if let errors = taken?.errors, taken?.weights == SharedErrors.digest(of: weights, in: samples.part) {
            return errors
        }
        guard let taken, samples.linked.isEmpty, try taken.compressed.replaceAll(by: weights) else { return nil }
        return try taken.compressed.finish(comparing: taken.original)
    }
}
