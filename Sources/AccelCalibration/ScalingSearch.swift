import AccelPlatform
public import AccelPrograms
import AccelTensors
public import AccelWeightCompression

/// Searches the scaling exponents of AWQ (Lin et al., 2023): columns of weights with large inputs are multiplied, and
/// the producers of these inputs divided, so that large inputs get finer steps. Factors are powers of two, so only the
/// rounding of codes changes. A site is scaled only if that reduces the error of its readers' outputs for held-out
/// vectors; all sites together are kept only if they reduce the error of the model's outputs.
public struct ScalingSearch {
    /// Exponents are the logarithm of the inputs' magnitudes, times one of these.
    private static let strengths = [0.25, 0.5, 0.75, 1]
    /// The range of exponents; larger factors cost other columns more than they gain.
    private static let exponents = -4.0...4.0
    /// The error has to fall below this share of the unscaled error, both for the readers' and for the model's outputs,
    /// because other data gain less than these samples.
    private static let leastGain = 0.9
    /// The approximate number of positions for the judgement of the model's outputs.
    private static let judgedPositions = 4096
    private let plan: [String: PlannedWeight]
    /// The site of each reader, by name.
    private let sites: [String: ScalingSite]
    private let threads: Int
    private let unscaled: ScaledWeights
    private var decided: Set<ScalingSite> = []
    /// The scaled weights found so far.
    public private(set) var found: ScaledWeights
    /// Why a weight with `method=awq` is not scaled, by name.
    public private(set) var reasons: [String: String]

    /// Creates a search.
    /// - Parameters:
    ///   - parts: all parts that read the weights.
    ///   - plan: the compression plan.
    public init(_ parts: [Program], plan: [PlannedWeight], threads: Int) {
        let plan = Dictionary(plan.map { ($0.source.name, $0) }) { first, _ in first }
        unscaled = ScaledWeights(of: parts)
        found = unscaled
        let wanted = plan.filter { $0.value.choice.codec.method == .awq }
        let fitting = found.sites.filter { $0.readers.allSatisfy { wanted[$0] != nil } }
        sites = Dictionary(fitting.flatMap { site in site.readers.map { ($0, site) } }) { first, _ in first }
        reasons = wanted.mapValues { _ in ScaledWeights.Obstacle.noSite.rawValue }
        self.plan = plan
        self.threads = threads
    }

    /// Searches with the statistics of samples, collected in the original model.
    /// - Parameter memory: known statistics, which need no run.
    public mutating func run(_ samples: [CalibrationSamples], memory: (any StatisticsMemory)? = nil) throws {
        for part in samples where !part.part.multipliedWeights.isDisjoint(with: sites.keys) {
            let walk = try StatisticsWalk(part, memory: memory, threads: threads)
            for (index, name) in walk.weights.enumerated() {
                guard let site = sites[name], !decided.contains(site), let statistics = try walk.statistics(of: index)
                else { continue }
                try decide(site, by: statistics)
            }
        }
        guard !found.scalings.isEmpty else { return }
        let (plain, scaled) = (try error(of: unscaled, over: samples), try error(of: found, over: samples))
        if scaled >= plain * Self.leastGain {
            for name in sites.keys where found.scalings[name]?.columns.isEmpty == false {
                reasons[name] = ScaledWeights.Obstacle.nothingGained.rawValue
            }
            found = unscaled
        }
    }

    /// Returns the error of the model's outputs if all weights with `method=awq` are compressed without calibration.
    private func error(of weights: ScaledWeights, over samples: [CalibrationSamples]) throws -> Double {
        let stored = try plan.values.filter { $0.choice.codec.method == .awq }.map { weight in
            try CompressedTensor.compressing(
                weights.tensors[weight.source.name] ?? weight.source, with: weight.choice.codec.dataFree,
                threads: threads
            ).tensor
        }
        return try samples.reduce(0) { sum, part in
            let part = part.thinned(to: Self.judgedPositions)
            let exact = try ReferenceOutputs(of: SampleRun(part, threads: threads))
            let run = try SampleRun(part.replacing(weights.tensors), threads: threads)
            for tensor in stored { try run.replace(tensor) }
            return try sum + run.error(from: exact)
        }
    }

    /// Searches with known statistics.
    public mutating func run(given statistics: [String: ActivationStatistics]) throws {
        for (name, site) in sites.sorted(by: { $0.key < $1.key }) where !decided.contains(site) {
            if let statistics = statistics[name] { try decide(site, by: statistics) }
        }
    }

    private mutating func decide(_ site: ScalingSite, by statistics: ActivationStatistics) throws {
        guard statistics.columns == site.channels else { return }
        decided.insert(site)
        for name in site.readers { reasons[name] = ScaledWeights.Obstacle.nothingGained.rawValue }
        let readers = site.readers.compactMap { plan[$0] }
        let plain = try readers.map { try Judged($0, statistics, threads: threads) }
        var best: (exponents: [Int], judged: [Judged])?
        for exponents in Self.candidates(statistics) {
            let scaled = statistics.scaled(by: exponents.map { -$0 })
            let judged = try readers.compactMap { weight in
                try weight.source.scaled(by: ChannelScaling(columns: exponents)).map {
                    try Judged(weight, as: $0, scaled, threads: threads)
                }
            }
            guard judged.count == readers.count else { continue }
            if Self.share(judged, of: best?.judged ?? plain, \.mean) < 1 { best = (exponents, judged) }
        }
        guard let best, Self.share(best.judged, of: plain, \.heldOut) < Self.leastGain,
            try site.keepsProducers(best.exponents, plan, threads: threads)
        else { return }
        if found.scale(site, by: best.exponents) {
            for name in site.readers { reasons[name] = nil }
        }
    }

    /// Returns the distinct candidate exponents, from weaker to stronger scalings.
    private static func candidates(_ statistics: ActivationStatistics) -> [[Int]] {
        let squares = statistics.meanSquares.map(Double.init)
        let mean = squares.reduce(0, +) / Double(max(squares.count, 1))
        guard mean > 0 else { return [] }
        let logarithms = squares.map { log2(max($0 / mean, 1e-8)) / 2 }
        let middle = logarithms.reduce(0, +) / Double(logarithms.count)
        return strengths.reduce(into: []) { found, strength in
            let made = logarithms.map {
                Int(min(max((($0 - middle) * strength).rounded(), exponents.lowerBound), exponents.upperBound))
            }
            if made.contains(where: { $0 != 0 }), !found.contains(made) { found.append(made) }
        }
    }

    /// Returns errors as shares of others, averaged over the readers.
    private static func share(_ errors: [Judged], of others: [Judged], _ kind: KeyPath<Judged, Double>) -> Double {
        let shares = zip(errors, others).map { error, other in
            other[keyPath: kind] > 0 ? error[keyPath: kind] / other[keyPath: kind] : 1
        }
        return shares.reduce(0, +) / Double(max(shares.count, 1))
    }
}

/// The output errors of a reader that is compressed without calibration.
private struct Judged {
    let mean: Double
    let heldOut: Double

    /// - Parameter source: the scaled weight; nil for the original.
    init(
        _ weight: PlannedWeight, as source: StoredTensor? = nil, _ statistics: ActivationStatistics, threads: Int
    ) throws {
        let source = source ?? weight.source
        let stored = try CompressedTensor.compressing(source, with: weight.choice.codec.dataFree, threads: threads)
            .tensor
        mean = try statistics.meanError(of: stored, from: source, threads: threads)
        heldOut =
            statistics.heldOut.vectors.isEmpty
            ? mean : try statistics.heldOutError(of: stored, from: source, threads: threads)
    }
}
