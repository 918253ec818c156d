import AccelByteIO
public import AccelPrograms
public import AccelTensors
public import AccelWeightCompression

/// Compresses weights in the order of execution: first weights with `method=weighted`, with the inputs of the original
/// model; then weights with `method=gptq` one after the other, each with the inputs that it gets behind the compressed
/// weights. A weight that is read before its product, such as tied word embeddings, is the first of these, with the inputs of the
/// original model: all others compensate for its errors.
public struct SequentialCompression {
    /// A compressed weight with the statistics that it was compressed with.
    public struct Result: Sendable {
        /// The encoding.
        public private(set) var tensor: CompressedTensor
        /// The error of the encoding against the original weight.
        public let distortion: Distortion
        /// The activation statistics of the weight; nil where they are not kept, which would take the squares of all columns.
        public fileprivate(set) var statistics: ActivationStatistics?

        /// Creates a result.
        public init(tensor: CompressedTensor, distortion: Distortion, statistics: ActivationStatistics?) {
            (self.tensor, self.distortion, self.statistics) = (tensor, distortion, statistics)
        }

        fileprivate mutating func keep(
            _ weight: PlannedWeight, keepingStatistics: Bool,
            by keep: (PlannedWeight, Result) throws -> CompressedTensor
        ) throws {
            tensor = try keep(weight, self)
            if !keepingStatistics { statistics = nil }
        }
    }
    /// The approximate number of positions for the judgement of importances.
    private static let judgedPositions = 4096
    /// The error of the outputs has to fall below this share of the error without importances, because other data gain
    /// less than these samples.
    private static let leastGain = 0.9
    private let samples: [CalibrationSamples]
    private let memory: (any StatisticsMemory)?
    private let reading: @Sendable (StoredTensor, _ threads: Int) throws -> StoredTensor
    private let keepsStatistics: Bool
    private let finished: FinishedRuns?
    private let threads: Int

    /// Creates a compression with samples for some parts.
    /// - Parameters:
    ///   - memory: known statistics, which need no run.
    ///   - reading: returns the tensor to compress for a weight, as in `Recipe.compressing`.
    ///   - keepsStatistics: whether results have the statistics.
    ///   - finished: takes the runs of a model of one part, for a measurement of its outputs.
    public init(
        _ samples: [CalibrationSamples], memory: (any StatisticsMemory)? = nil,
        reading: @escaping @Sendable (StoredTensor, _ threads: Int) throws -> StoredTensor = { source, _ in source },
        keepsStatistics: Bool = false, finished: FinishedRuns? = nil, threads: Int
    ) {
        self.finished = finished
        self.reading = reading
        self.keepsStatistics = keepsStatistics
        self.samples = samples
        self.memory = memory
        self.threads = threads
    }

    /// Compresses all weights with calibration.
    /// - Parameters:
    ///   - plan: the compression plan of all weights.
    ///   - stored: the encodings of the weights without calibration.
    ///   - compress: compresses weights with the same inputs by their statistics.
    ///   - keep: takes each final encoding, and may return it in other memory, such as a mapped file.
    /// - Returns: The weights for which there were statistics, by name.
    public func run(
        _ plan: [PlannedWeight], stored: [CompressedTensor],
        compress: ([PlannedWeight], ActivationStatistics) throws -> [(
            tensor: CompressedTensor, distortion: Distortion
        )],
        keep: (PlannedWeight, Result) throws -> CompressedTensor = { $1.tensor }
    ) throws -> [String: Result] {
        var results: [String: Result] = [:]
        /// The bytes of the statistics in `results`.
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
                let needed = try walk.requireMemory(
                    forStatisticsOf: { wanted[$0] != nil && results[$0] == nil }, besides: held,
                    keepingAll: keepsStatistics || method == .weighted)
                if keepsStatistics { held += needed }
                var weighted: [PlannedWeight] = []
                // What reads a weight before its product, as the lookup of word embeddings does, gets the compressed one.
                let ahead = method == .gptq ? walk.weights.indices.filter(original.isReadBefore) : []
                for (step, group) in (ahead.map { [$0] } + walk.groups).enumerated() {
                    let group = group.filter { wanted[walk.weights[$0]] != nil && results[walk.weights[$0]] == nil }
                    guard let first = group.first,
                        let statistics = try (step < ahead.count ? original : walk).statistics(of: first)
                    else { continue }
                    let members = group.map { walk.weights[$0] }.distinct.compactMap { wanted[$0] }
                    for (weight, made) in zip(members, try compress(members, statistics)) {
                        var result = Result(
                            tensor: made.tensor, distortion: made.distortion, statistics: statistics)
                        if method == .gptq { try result.keep(weight, keepingStatistics: keepsStatistics, by: keep) }
                        results[weight.source.name] = result
                        if method == .gptq { try walk.replace(result.tensor) } else { weighted.append(weight) }
                    }
                }
                if method == .gptq, samples.count == 1 {
                    try finished.map { try walk.store(in: $0, with: stored + results.values.map(\.tensor)) }
                }
                guard !weighted.isEmpty else { continue }
                try chooseWhatServes(weighted, stored: stored, of: part, in: &results)
                for weight in weighted {
                    try results[weight.source.name]?.keep(weight, keepingStatistics: keepsStatistics, by: keep)
                }
            }
        }
        return results
    }

    /// Compresses all these weights without calibration after all, unless calibration clearly reduces the error of the
    /// part's outputs: column importances ignore that errors add up. The judgement is for all weights together; for
    /// single weights the difference is too small to predict the effect on other data.
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
        let reference = try ReferenceOutputs(of: run)
        func error(with tensors: [CompressedTensor]) throws -> Double {
            for tensor in stored + tensors { try run.replace(tensor) }
            return try run.error(from: reference)
        }
        let made = try error(with: weights.compactMap { results[$0.source.name]?.tensor })
        guard try error(with: plain.map(\.tensor)) * Self.leastGain < made else { return }
        for (weight, (tensor, distortion)) in zip(weights, plain) {
            guard let statistics = results[weight.source.name]?.statistics else { continue }
            results[weight.source.name] = Result(tensor: tensor, distortion: distortion, statistics: statistics)
        }
    }
}
