import AccelPrograms
import AccelTensors
public import AccelWeightCompression

/// The error of the outputs of all samples of a part, with some weights replaced, against the original weights.
final class JointError {
    private let run: SampleRun
    private let reference: [[StoredTensor]]

    init(_ samples: CalibrationSamples, threads: Int) throws {
        run = try SampleRun(samples, threads: threads)
        try run.run(from: nil, to: nil)
        reference = run.outputs()
    }

    /// - Parameter weights: all weights that differ from the original.
    func error(with weights: [CompressedTensor]) throws -> Double {
        for tensor in weights { try run.replace(tensor) }
        try run.restart()
        try run.run(from: nil, to: nil)
        return run.error(of: run.outputs(), from: reference)
    }
}

extension [CalibrationSamples] {
    /// Returns the SQNR in dB of the outputs over all samples, with some weights replaced and activations in float32; the mean over the
    /// parts.
    /// - Parameter weights: the weights that differ from the parts'; others of their names have to have the parts' shapes.
    public func outputSQNR(with weights: [CompressedTensor], threads: Int) throws -> Double {
        let errors = try map { try JointError($0, threads: threads).error(with: weights) }
        return WeightLoss.decibels(errors.reduce(0, +) / Double(Swift.max(errors.count, 1)))
    }
}
