public import Programs
import Tensors
public import WeightCompression

/// Compresses weights one after the other in the order in which the model reads them, each for the inputs that it gets
/// from those before it as they are stored.
public struct SequentialCompression {
    public struct Result: Sendable {
        public let tensor: CompressedTensor
        public let distortion: Distortion
        public let statistics: ActivationStatistics
    }
    private let samples: [CalibrationSamples]
    private let threads: Int

    public init(_ samples: [CalibrationSamples], threads: Int) {
        self.samples = samples
        self.threads = threads
    }

    /// - Parameters:
    ///   - plan: how every weight is to be stored.
    ///   - stored: the weights that need no statistics, as they are stored.
    ///   - compress: makes a weight's stored form.
    /// - Returns: by name, the weights for which the samples told statistics.
    public func run(
        _ plan: [PlannedWeight], stored: [CompressedTensor],
        compress: (PlannedWeight, ActivationStatistics) throws -> (CompressedTensor, Distortion)
    ) throws -> [String: Result] {
        let wanted = Dictionary(
            plan.filter { $0.choice.codec.method != .nearest }.map { ($0.source.name, $0) },
            uniquingKeysWith: { first, _ in first })
        var results: [String: Result] = [:]
        for part in samples {
            let run = try SampleRun(part, threads: threads)
            let last = run.weights.lastIndex { wanted[$0] != nil }
            for tensor in stored { try run.replace(tensor) }
            for result in results.values { try run.replace(result.tensor) }
            try run.run(from: nil, to: run.weights.isEmpty ? nil : 0)
            var shared: ActivationStatistics?
            for (index, name) in run.weights.enumerated() where index <= last ?? -1 {
                if !run.sharesInput(withWeightBefore: index) { shared = nil }
                if let weight = wanted[name], results[name] == nil {
                    let statistics = shared ?? run.statistics(of: index)
                    shared = statistics
                    if let statistics {
                        let (tensor, distortion) = try compress(weight, statistics)
                        results[name] = Result(tensor: tensor, distortion: distortion, statistics: statistics)
                        try run.replace(tensor)
                    }
                }
                if index != last { try run.run(from: index, to: index + 1) }
            }
        }
        return results
    }
}
