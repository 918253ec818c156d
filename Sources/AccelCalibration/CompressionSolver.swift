import AccelByteIO
import AccelPlatform
public import AccelPrograms
import AccelTensors
public import AccelWeightCompression

/// The goal of a choice of schemes.
public enum CompressionGoal: Sendable {
    /// At most this many bytes for the weights in question.
    case bytes(Int)
    /// At most this many bits per weight, on average over the weights in question.
    case bits(Double)
    /// The fewest bytes for which the outputs over the samples have at least this SQNR in dB.
    case sqnr(Double)
}

/// A scheme for each weight, with the measured result.
public struct CompressionPlan: Sendable {
    /// The schemes by weight name.
    public let codecs: [String: any WeightCodec]
    /// The bytes of these weights.
    public let bytes: Int
    /// The mean bits per weight.
    public let bits: Double
    /// The SQNR in dB of the outputs over the samples, with all weights compressed.
    public let sqnr: Double
    /// The activation statistics of weights whose codes depend on them, by name.
    public let statistics: [String: ActivationStatistics]
    /// A single scheme for all weights gave a better result than any mixture.
    public let isUniform: Bool
}

/// A choice on the Pareto front of size and error.
public struct ParetoPoint: Sendable {
    /// The bytes of the weights.
    public let bytes: Int
    /// The mean bits per weight.
    public let bits: Double
    /// The SQNR in dB, measured or predicted.
    public let sqnr: Double
    /// The SQNR was measured with all weights compressed; if false, it is predicted from the errors of single weights.
    public let isMeasured: Bool
}

/// Chooses a scheme for each weight. First, the effect of each scheme on the outputs is measured weight by weight; then
/// the steps are taken that gain most per byte. The result and the best single scheme are measured as a whole with
/// GPTQ, and the better of them is the plan.
public struct CompressionSolver {
    private let samples: [CalibrationSamples]
    /// The weights to choose for.
    private let weights: [PlannedWeight]
    /// The weights with a given scheme whose codes depend on activation statistics.
    private let pinned: [PlannedWeight]
    /// The weights that do not change.
    private let stored: [CompressedTensor]
    private let threads: Int
    /// The number of positions over which single weights are measured.
    private static let positions = 512

    /// Creates a solver.
    /// - Parameters:
    ///   - weights: the weights to choose schemes for.
    ///   - pinned: weights with a given scheme that needs calibration.
    ///   - stored: the encodings of all other weights.
    public init(
        _ samples: [CalibrationSamples], weights: [PlannedWeight], pinned: [PlannedWeight] = [],
        stored: [CompressedTensor], threads: Int
    ) {
        (self.samples, self.weights, self.pinned, self.stored, self.threads) = (
            samples, weights, pinned, stored, threads
        )
    }

    private var count: Int { weights.reduce(0) { $0 + $1.source.shape.count } }
    private func bits(_ bytes: Int) -> Double { Double(bytes) * 8 / Double(max(count, 1)) }
    private func decibels(_ error: Double) -> Double { error > 0 ? -10 * log10(error) : .infinity }

    /// Chooses the schemes, and returns them with the Pareto front.
    /// - Throws: `RequestError` if no choice reaches the goal.
    public func solve(_ goal: CompressionGoal) throws -> (plan: CompressionPlan, front: [ParetoPoint]) {
        let hulls = try IsolatedErrors(samples: samples, weights: weights, threads: threads)
            .candidates(over: Self.positions).map(\.hull)
        let path = ParetoPath(hulls)
        var front = path.points.map {
            ParetoPoint(bytes: $0.bytes, bits: bits($0.bytes), sqnr: decibels($0.error), isMeasured: false)
        }
        var measured: [CompressionPlan] = []
        let judges = try samples.map { try JointError($0, threads: threads) }
        func measure(_ choice: [Int]) throws -> CompressionPlan {
            let codecs = zip(weights, zip(hulls, choice)).map { ($0.source.name, $1.0[$1.1].codec) }
            measured.append(try joint(Dictionary(uniqueKeysWithValues: codecs), isUniform: false, judges))
            return measured[measured.count - 1]
        }
        let byteLimit: Int
        switch goal {
        case .bytes(let bytes): byteLimit = bytes
        case .bits(let bits): byteLimit = Int(bits * Double(count) / 8)
        case .sqnr(let wanted):
            // Errors are about additive, so their sum shows where to search; each measurement corrects the target of
            // the search.
            var (low, high) = (0, path.points.count - 1)
            var best: CompressionPlan?
            while low <= high, measured.count < 8 {
                let middle = (low + high) / 2
                let plan = try measure(path.points[middle].choice)
                if plan.sqnr >= wanted {
                    best = plan
                    high = middle - 1
                } else {
                    low = middle + 1
                }
            }
            guard let best else {
                throw RequestError(
                    "no choice of schemes was found that gives \(wanted) dB over the samples; the best had "
                        + "\(measured.map(\.sqnr).max() ?? 0)")
            }
            byteLimit = best.bytes
        }
        guard let smallest = path.points.first, smallest.bytes <= byteLimit else {
            throw RequestError(
                "the weights take at least \(path.points.first?.bytes ?? 0) bytes (\(bits(path.points.first?.bytes ?? 0)) bits "
                    + "each); the target leaves \(byteLimit)")
        }
        if case .sqnr = goal {
        } else if let last = ParetoPath(hulls, byteLimit: byteLimit).points.last {
            _ = try measure(last.choice)
        }
        if let uniform = try uniform(byteLimit: byteLimit) {
            measured.append(try joint(uniform, isUniform: true, judges))
        }
        let fitting = measured.filter { $0.bytes <= byteLimit }
        guard let best = fitting.max(by: { ($0.sqnr, -$0.bytes) < ($1.sqnr, -$1.bytes) }) else {
            throw RequestError("no choice of schemes fits into \(byteLimit) bytes")
        }
        front += measured.map { ParetoPoint(bytes: $0.bytes, bits: $0.bits, sqnr: $0.sqnr, isMeasured: true) }
        return (best, front)
    }

    /// Returns the largest single scheme for all weights that fits into `byteLimit` bytes; nil if none does.
    private func uniform(byteLimit: Int) throws -> [String: any WeightCodec]? {
        var best: (bytes: Int, codecs: [String: any WeightCodec])?
        for scheme in CandidateSchemes.all {
            let codec = try Codecs.codec(scheme)
            var (bytes, codecs) = (0, [String: any WeightCodec]())
            for weight in weights {
                let fits = try CandidateSchemes.codecs(for: weight.source)
                guard let own = fits.first(where: { $0.codec.values == codec.values }) ?? fits.last else { continue }
                bytes += own.bytes
                codecs[weight.source.name] = own.codec
            }
            if bytes <= byteLimit, bytes > best?.bytes ?? -1 { best = (bytes, codecs) }
        }
        return best?.codecs
    }

    /// Compresses all weights as chosen, those with statistics by GPTQ in sequence, and measures the outputs.
    private func joint(
        _ codecs: [String: any WeightCodec], isUniform: Bool, _ judges: [JointError]
    ) throws -> CompressionPlan {
        let reached = samples.reduce(into: Set<String>()) { $0.formUnion($1.part.multipliedWeights) }
        var chosen: [String: any WeightCodec] = [:]
        for (name, codec) in codecs { chosen[name] = codec.using(reached.contains(name) ? .gptq : .nearest) }
        func planned(_ weight: PlannedWeight, _ codec: any WeightCodec) -> PlannedWeight {
            PlannedWeight(
                source: weight.source, readers: weight.readers, choice: Recipe.Choice(codec: codec, reason: nil))
        }
        let plan =
            weights.compactMap { weight in chosen[weight.source.name].map { planned(weight, $0) } }
            + pinned.map { planned($0, reached.contains($0.source.name) ? $0.choice.codec : $0.choice.codec.dataFree) }
        let free = plan.filter { $0.choice.codec.method == .nearest }
        let others = try Parallel.map(free.count, threads: threads) {
            try CompressedTensor.compressing(free[$0].source, with: free[$0].choice.codec, threads: 1).tensor
        }
        let results = try SequentialCompression(samples, threads: threads).run(plan, stored: stored + others) {
            weight, statistics in
            try CompressedTensor.compressing(
                weight.source, with: weight.choice.codec, judgedBy: statistics, threads: threads)
        }
        for (name, result) in results where result.tensor.codec.method == .nearest {
            chosen[name] = chosen[name]?.dataFree
        }
        let calibrated = results.filter { $0.value.tensor.codec.method != .nearest }
        // Weights that no sample reaches are compressed without statistics.
        let missing = plan.filter { $0.choice.codec.method != .nearest && results[$0.source.name] == nil }
        for weight in missing where codecs[weight.source.name] != nil {
            chosen[weight.source.name] = weight.choice.codec.dataFree
        }
        let rest = try missing.map {
            try CompressedTensor.compressing($0.source, with: $0.choice.codec.dataFree, threads: threads).tensor
        }
        let all = stored + others + rest + results.values.map(\.tensor)
        let error = try judges.reduce(0) { try $0 + $1.error(with: all) } / Double(max(judges.count, 1))
        let names = Set(codecs.keys)
        let bytes = all.filter { names.contains($0.name) }.reduce(0) { $0 + $1.byteCount }
        return CompressionPlan(
            codecs: chosen, bytes: bytes, bits: bits(bytes), sqnr: decibels(error),
            statistics: calibrated.mapValues(\.statistics), isUniform: isUniform)
    }
}

/// The error of the outputs of all samples of a part, with some weights replaced, against the original weights.
private final class JointError {
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
