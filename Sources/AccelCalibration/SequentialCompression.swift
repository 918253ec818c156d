public import AccelPrograms
public import AccelTensors
public import AccelWeightCompression

/// Compresses weights in the order in which the model reads them: those with method=weighted for their inputs in the
/// model as it was, then those with method=gptq one after the other, each for the inputs that it gets from those before it
/// as they are stored.
public struct SequentialCompression {
    public struct Result: Sendable {
        public private(set) var tensor: CompressedTensor
        public let distortion: Distortion
        public let statistics: ActivationStatistics

        public init(tensor: CompressedTensor, distortion: Distortion, statistics: ActivationStatistics) {
            (self.tensor, self.distortion, self.statistics) = (tensor, distortion, statistics)
        }

        fileprivate mutating func keep(
            _ weight: PlannedWeight, by keep: (PlannedWeight, Result) throws -> CompressedTensor
        ) throws {
            tensor = try keep(weight, self)
        }
    }
    /// About so many positions tell whether importances of columns serve.
    private static let judgedPositions = 4096
    /// The outputs' error has to be below this share of that without importances: other samples than these gain less.
    private static let leastGain = 0.9
    private let samples: [CalibrationSamples]
    private let memory: (any StatisticsMemory)?
    private let reading: @Sendable (StoredTensor, _ threads: Int) throws -> StoredTensor
    private let threads: Int

    /// - Parameters:
    ///   - memory: what is known there is not found by a run.
    ///   - reading: gives what is compressed in place of a weight, as `Recipe.compressing` has it.
    public init(
        _ samples: [CalibrationSamples], memory: (any StatisticsMemory)? = nil,
        reading: @escaping @Sendable (StoredTensor, _ threads: Int) throws -> StoredTensor = { source, _ in source },
        threads: Int
    ) {
        self.reading = reading
        self.samples = samples
        self.memory = memory
        self.threads = threads
    }

    /// - Parameters:
    ///   - plan: how every weight is to be stored.
    ///   - stored: the weights that need no statistics, as they are stored.
    ///   - compress: makes a weight's stored form.
    ///   - keep: is told each weight's final form, and may return the same one kept elsewhere.
    /// - Returns: by name, the weights for which the samples told statistics.
    public func run(
        _ plan: [PlannedWeight], stored: [CompressedTensor],
        compress: (PlannedWeight, ActivationStatistics) throws -> (CompressedTensor, Distortion),
        keep: (PlannedWeight, Result) throws -> CompressedTensor = { $1.tensor }
    ) throws -> [String: Result] {
        var results: [String: Result] = [:]
        /// Bytes of the statistics in it.
        var held = 0
        for part in samples {
            let original = try StatisticsWalk(part, memory: memory, threads: threads)
            for method in [CalibrationMethod.weighted, .gptq] {
                let wanted = Dictionary(
                    plan.filter { $0.choice.codec.method == method }.map { ($0.source.name, $0) },
                    uniquingKeysWith: { first, _ in first })
                guard original.weights.contains(where: { wanted[$0] != nil && results[$0] == nil }) else { continue }
                let walk =
                    method == .weighted
                    ? original
                    : try StatisticsWalk(
                        part, with: stored + results.values.map(\.tensor), besides: original, memory: memory,
                        threads: threads)
                held += try walk.requireMemory(
                    forStatisticsOf: { wanted[$0] != nil && results[$0] == nil }, besides: held)
                var weighted: [PlannedWeight] = []
                for (index, name) in walk.weights.enumerated() {
                    guard let weight = wanted[name], results[name] == nil,
                        let statistics = try walk.statistics(of: index)
                    else { continue }
                    let (tensor, distortion) = try compress(weight, statistics)
                    results[name] = Result(tensor: tensor, distortion: distortion, statistics: statistics)
                    if method == .gptq {
                        try results[name]?.keep(weight, by: keep)
                        try walk.replace(tensor)
                    } else {
                        weighted.append(weight)
                    }
                }
                guard !weighted.isEmpty else { continue }
                try chooseWhatServes(weighted, stored: stored, of: part, in: &results)
                for weight in weighted { try results[weight.source.name]?.keep(weight, by: keep) }
            }
        }
        return results
    }

    /// Stores all these weights without statistics after all, unless the part's outputs are clearly nearer with them: an
    /// importance of each column alone says nothing of errors that add up. (It is of so few numbers that the samples
    /// themselves can judge it; weight by weight they would choose by chance, and other samples would be served worse.)
    private func chooseWhatServes(
        _ weights: [PlannedWeight], stored: [CompressedTensor], of part: CalibrationSamples,
        in results: inout [String: Result]
    ) throws {
        let reading = reading
        let plain = try Parallel.map(weights.count, threads: threads) {
            try CompressedTensor.compressing(
                reading(weights[$0].source, 1), with: weights[$0].choice.codec.dataFree, threads: 1)
        }
        let run = try SampleRun(part.thinned(to: Self.judgedPositions), threads: threads)
        try run.run(from: nil, to: nil)
        let reference = run.outputs()
        func error(with tensors: [CompressedTensor]) throws -> Double {
            for tensor in stored + tensors { try run.replace(tensor) }
            try run.restart()
            try run.run(from: nil, to: nil)
            return run.error(of: run.outputs(), from: reference)
        }
        let made = try error(with: weights.compactMap { results[$0.source.name]?.tensor })
        guard try error(with: plain.map(\.tensor)) * Self.leastGain < made else { return }
        for (weight, (tensor, distortion)) in zip(weights, plain) {
            guard let statistics = results[weight.source.name]?.statistics else { continue }
            results[weight.source.name] = Result(tensor: tensor, distortion: distortion, statistics: statistics)
        }
    }
}
