package import AccelByteIO
import AccelPlatform
public import AccelPrograms
import AccelTensors
public import AccelWeightCompression

extension Diagnostic.Code {
    /// No choice of schemes reaches the wanted ratio of signal to noise.
    package static let targetNotReached: Self = "target-not-reached"
}

/// Chooses a scheme for each weight. First, the effect of each scheme on the outputs is measured weight by weight; then
/// the steps are taken that gain most per byte. The result is measured as a whole with GPTQ, and corrected where large weights
/// have another effect in the whole (`ChoiceSearch`); so is the best single scheme. Bytes that the better of them leaves are spent
/// by the same steps, and the best measured choice is the plan.
public struct CompressionSolver {
    private let samples: [CalibrationSamples]
    /// The weights to choose for.
    private let weights: [PlannedWeight]
    /// The weights with a given scheme whose codes depend on activation statistics.
    private let pinned: [PlannedWeight]
    /// The weights that do not change.
    private let stored: [CompressedTensor]
    private let threads: Int
    private let isAllowed: SchemeFilter?
    /// The number of positions over which single weights are measured.
    private static let positions = 512

    /// Creates a solver.
    /// - Parameters:
    ///   - weights: the weights to choose schemes for.
    ///   - pinned: weights with a given scheme that needs calibration.
    ///   - stored: the encodings of all other weights.
    ///   - isAllowed: what the file of the weights can have; nil for no limit.
    public init(
        _ samples: [CalibrationSamples], weights: [PlannedWeight], pinned: [PlannedWeight] = [],
        stored: [CompressedTensor], where isAllowed: SchemeFilter? = nil, threads: Int
    ) {
        (self.samples, self.weights, self.pinned, self.stored, self.threads) = (
            samples, weights, pinned, stored, threads
        )
        self.isAllowed = isAllowed
    }

    /// All schemes that the solver chooses from, as text: another list may give another choice.
    public static var schemes: String { schemeNames.joined(separator: " ") }
    /// Each of them.
    package static var schemeNames: [String] { CandidateSchemes.all }

    /// The elements of the weights to choose for.
    public var count: Int { weights.reduce(0) { $0 + $1.source.shape.count } }
    private func bits(_ bytes: Int) -> Double { Double(bytes) * 8 / Double(max(count, 1)) }

    private var reached: Set<String> { Set(samples.flatMap { $0.part.constants.map(\.name) }) }

    /// The number of weights to choose for that the samples do not reach, because they have no inputs of their parts.
    package var unreachedCount: Int {
        let reached = reached
        return weights.count { !reached.contains($0.source.name) }
    }

    /// Returns the fewest bytes that the weights to choose for can take: those of the smallest schemes, and of the finest for a
    /// weight that the samples do not reach. Nothing is measured for it.
    public func leastBytes() throws -> Int {
        let reached = reached
        return try weights.reduce(0) { sum, weight in
            let schemes = try CandidateSchemes.codecs(for: weight.source, allowedBy: isAllowed)
            return sum + ((reached.contains(weight.source.name) ? schemes.first : schemes.last)?.bytes ?? 0)
        }
    }

    /// Chooses the schemes, and returns them with the Pareto front.
    /// - Parameter progress: called at each step, before its work.
    /// - Throws: `RequestError` if no choice reaches the goal.
    public func solve(
        _ goal: CompressionGoal, progress: (SearchStep) -> Void = { _ in }
    ) throws -> CompressionChoice {
        let candidates = try IsolatedErrors(samples: samples, weights: weights, isAllowed: isAllowed, threads: threads)
            .candidates(over: Self.positions, progress: progress)
        progress(.solving)
        let hulls = candidates.map(\.hull)
        var front = ParetoPath(hulls).points.map {
            ParetoPoint(bytes: $0.bytes, bits: bits($0.bytes), sqnr: WeightLoss.decibels($0.error), isMeasured: false)
        }
        var measured: [CompressionPlan] = []
        let judges = try samples.map { try JointError($0, threads: threads) }
        func check(_ codecs: [String: any WeightCodec], isUniform: Bool = false) throws -> CompressionPlan {
            progress(.checking(bits: bits(bytes(of: codecs)), index: measured.count))
            let plan = try joint(codecs, isUniform: isUniform, judges)
            measured.append(plan)
            return plan
        }
        let aim: ChoiceSearch.Aim =
            switch goal {
            case .bytes(let bytes): .leastError(byteLimit: bytes)
            case .bits(let bits): .leastError(byteLimit: Int(bits * Double(count) / 8))
            case .sqnr(let wanted): .fewestBytes(sqnr: wanted)
            }
        let search = ChoiceSearch(hulls: hulls, counts: weights.map(\.source.shape.count), aim: aim)
        let found = try search.best { choice in
            let codecs = zip(weights, zip(hulls, choice)).map { ($0.source.name, $1.0[$1.1].codec) }
            return try check(Dictionary(uniqueKeysWithValues: codecs))
        }
        let byteLimit: Int
        switch aim {
        case .leastError(let limit): byteLimit = limit
        case .fewestBytes(let wanted):
            guard let found else {
                throw RequestError(
                    "no choice of schemes up to float16 was found that gives \(wanted) dB over the samples; the best had "
                        + "\(NumberText.fixed(measured.map(\.judgedSQNR).max() ?? 0, digits: 2)) dB",
                    code: .targetNotReached)
            }
            byteLimit = found.bytes
        }
        if let uniform = try uniform(byteLimit: byteLimit) {
            _ = try check(uniform, isUniform: true)
        }
        func best() -> CompressionPlan? {
            measured.filter { $0.bytes <= byteLimit }
                .max { ($0.judgedSQNR, -$0.bytes) < ($1.judgedSQNR, -$1.bytes) }
        }
        if case .leastError = aim, let first = best(), let finer = spending(byteLimit, from: first, candidates) {
            _ = try check(finer, isUniform: first.isUniform)
        }
        guard let best = best() else { throw RequestError("no choice of schemes fits into \(byteLimit) bytes") }
        front += measured.map {
            ParetoPoint(
                bytes: $0.bytes, bits: $0.bits, sqnr: $0.sqnr, isMeasured: true, heldOut: $0.outputs.heldOut)
        }
        return CompressionChoice(
            plan: best, front: front, losses: losses(of: best, candidates, hulls), candidates: all(candidates))
    }

    /// Returns the bytes of the weights by the given schemes.
    private func bytes(of codecs: [String: any WeightCodec]) -> Int {
        weights.reduce(0) { sum, weight in
            let source = weight.source
            let sections = codecs[source.name]?.sections(elementType: source.elementType, shape: source.shape) ?? []
            return sum + sections.reduce(0) { $0 + $1.byteCount }
        }
    }

    /// Returns the choice of a plan with finer schemes for what the limit leaves; nil if no step fits.
    private func spending(
        _ byteLimit: Int, from plan: CompressionPlan, _ candidates: [[SchemeCandidate]]
    ) -> [String: any WeightCodec]? {
        let rising = zip(weights, candidates).map { weight, candidates -> [SchemeCandidate] in
            guard let codec = plan.codecs[weight.source.name] else { return [] }
            let current = Self.current(codec, for: weight.source, among: candidates)
            return ([current] + candidates.filter { $0.bytes > current.bytes }).hull
        }
        let points = ParetoPath(rising, byteLimit: byteLimit).points
        guard points.count > 1, let last = points.last else { return nil }
        var codecs = plan.codecs
        for (weight, (hull, index)) in zip(weights, zip(rising, last.choice)) where hull.indices.contains(index) {
            codecs[weight.source.name] = hull[index].codec
        }
        return codecs
    }

    /// Returns the candidate of a scheme. One whose error was not measured, because others of its size are better, gets that of the
    /// largest smaller one.
    private static func current(
        _ codec: any WeightCodec, for source: StoredTensor, among candidates: [SchemeCandidate]
    ) -> SchemeCandidate {
        let scheme = codec.dataFree.values
        if let known = candidates.first(where: { $0.codec.dataFree.values == scheme }) { return known }
        let sections = codec.sections(elementType: source.elementType, shape: source.shape)
        let bytes = sections.reduce(0) { $0 + $1.byteCount }
        let smaller = candidates.filter { $0.bytes <= bytes }.map(\.error).min()
        return SchemeCandidate(
            codec: codec, bytes: bytes, error: smaller ?? candidates.map(\.error).max() ?? 0)
    }

    private func losses(
        of plan: CompressionPlan, _ candidates: [[SchemeCandidate]], _ hulls: [[SchemeCandidate]]
    ) -> [WeightLoss] {
        zip(weights, zip(candidates, hulls)).compactMap { weight, known -> WeightLoss? in
            guard let codec = plan.codecs[weight.source.name] else { return nil }
            let current = Self.current(codec, for: weight.source, among: known.0)
            let larger = known.1.first { $0.bytes > current.bytes && $0.error < current.error }
            // As the plan stores the weight, and with what it would be stored by.
            let next = larger.map { larger in
                SchemeCandidate(
                    codec: WeightLoss.Remedy.advised(larger.codec, for: codec), bytes: larger.bytes, error: larger.error
                )
            }
            let own = SchemeCandidate(codec: codec, bytes: current.bytes, error: current.error)
            return WeightLoss(weight.source.name, own, next: next)
        }.ranked
    }

    private func all(_ candidates: [[SchemeCandidate]]) -> [(weight: String, losses: [WeightLoss])] {
        zip(weights, candidates).map { weight, candidates in
            let name = weight.source.name
            let plain = candidates.map { SchemeCandidate(codec: $0.codec.dataFree, bytes: $0.bytes, error: $0.error) }
            return (name, plain.sorted { $0.bytes < $1.bytes }.map { WeightLoss(name, $0, next: nil) })
        }
    }

    /// Returns the largest single scheme for all weights that fits into `byteLimit` bytes; nil if none does.
    private func uniform(byteLimit: Int) throws -> [String: any WeightCodec]? {
        var best: (bytes: Int, codecs: [String: any WeightCodec])?
        for scheme in CandidateSchemes.all {
            let codec = try Codecs.codec(scheme)
            var (bytes, codecs) = (0, [String: any WeightCodec]())
            for weight in weights {
                let fits = try CandidateSchemes.codecs(for: weight.source, allowedBy: isAllowed)
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
        let reached = samples.map(\.part).multipliedWeights
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
        let results = try SequentialCompression(samples, keepsStatistics: true, threads: threads).run(
            plan, stored: stored + others
        ) { weights, statistics in
            try weights.map {
                try CompressedTensor.compressing(
                    $0.source, with: $0.choice.codec, judgedBy: statistics, threads: threads)
            }
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
        let names = Set(codecs.keys)
        let bytes = all.filter { names.contains($0.name) }.reduce(0) { $0 + $1.byteCount }
        return CompressionPlan(
            codecs: chosen, bytes: bytes, bits: bits(bytes), outputs: try judges.outputs(with: all),
            statistics: calibrated.compactMapValues(\.statistics), isUniform: isUniform)
    }
}

extension WeightLoss {
    fileprivate init(_ name: String, _ candidate: SchemeCandidate, next: SchemeCandidate?) {
        let remedy = next.map {
            Remedy(codec: $0.codec, bytes: $0.bytes, sqnr: WeightLoss.decibels($0.error))
        }
        self.init(
            name, candidate.codec.values.request, bytes: candidate.bytes, error: candidate.error, remedy: remedy)
    }
}
