import AccelByteIO
import AccelCalibration
import AccelFormats
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The calibration of a conversion: samples to run the model over, or activation statistics of an earlier run.
struct ModelCalibration {
    private(set) var samples: [CalibrationSamples]
    /// The file of the samples; nil without samples.
    private(set) var file: String?
    /// Activation statistics by weight, used instead of samples.
    private(set) var statistics: [String: ActivationStatistics] = [:]
    /// The runs by which weights were compressed, until the outputs are measured.
    let finishedRuns = FinishedRuns()
    let threads: Int

    /// - Parameters:
    ///   - family: the model's family.
    ///   - plan: every weight with the scheme of the request's recipe.
    /// - Throws: `RequestError` if a weight or a target needs calibration and there are no samples, or if the schemes that use samples
    ///   are those of no weight.
    init(
        _ request: Conversion, parts: [Program], family: String, plan: [PlannedWeight], threads: Int
    ) throws {
        self.threads = threads
        let recipe = request.recipe
        let multiplied = parts.multipliedWeights
        let calibrated = plan.filter {
            $0.choice.codec.method != .nearest && multiplied.contains($0.source.name)
        }
        let rounding = recipe.allActivations.first(where: \.needsSamples).map { "activations \($0.specification)" }
        try Self.requireOneCalibration(request, rounding, plan)
        if let importance = request.importance {
            samples = []
            statistics = try Self.statistics(importance, family: family, calibrated)
            return
        }
        let measured = rounding.map { "\($0) are" } ?? request.target.map { _ in "a target is" }
        guard let file = request.samples else {
            samples = []
            if let measured {
                throw RequestError("\(measured) measured on samples", code: .needsSamples)
            } else if let reference = recipe.statistics {
                statistics = try Self.statistics(reference, besides: request.recipeFile, plan, threads: threads)
            } else if !calibrated.isEmpty {
                throw RequestError(
                    "method=weighted, gptq and awq want to know the inputs of weights", code: .unknownInputs)
            }
            return
        }
        guard !calibrated.isEmpty || measured != nil || request.onlyMeasuresSamples else {
            throw RequestError(
                "nothing uses the samples \(file.path): the recipe's rules leave no matrix that is multiplied with inputs for its "
                    + "schemes with a method", code: .unusedSamples)
        }
        // Of a part's ports, states can be given too.
        try SampleInputs(file.tensors, file: file.path)
            .rejectMisspelt(besides: parts.flatMap { $0.inputs.map(\.name) + $0.states.map(\.name) })
        samples = try CalibrationSamples.all(
            file.tensors, for: parts, file: file.path, memory: request.sampleMemory, threads: threads)
        self.file = file.path
        guard !samples.isEmpty else {
            throw parts.noInput(among: file.tensors, file: file.path)
        }
    }

    /// A calibration by the statistics that a compression plan was solved with.
    init(statistics: [String: ActivationStatistics], threads: Int) {
        (samples, self.statistics, self.threads) = ([], statistics, threads)
    }

    /// - Parameter rounding: the activations that are measured on samples; nil for none.
    /// - Throws: `RequestError` for two choices of a request that want different calibrations.
    private static func requireOneCalibration(
        _ request: Conversion, _ rounding: String?, _ plan: [PlannedWeight]
    ) throws {
        let recipe = request.recipe
        let scaled = recipe.smoothsActivations ? plan.first { $0.choice.codec.method == .awq } : nil
        let importance = request.importance.map { "the importance matrix \($0.path)" }
        let (target, statistics) = (
            request.target.map { _ in "a target" }, recipe.statistics.map { _ in "the recipe's \"statistics\"" }
        )
        let pairs = [
            (rounding, target), (rounding, statistics), (scaled.map { "method=awq for \($0.source.name)" }, rounding),
            (importance, request.samples.map { "the samples \($0.path)" }), (importance, target),
            (importance, statistics), (importance, rounding),
        ]
        for case (let one?, let other?) in pairs {
            throw RequestError("\(one) does not go together with \(other): leave out one of them")
        }
    }

    /// Returns the importance of the weights that want calibration.
    private static func statistics(
        _ importance: ImportanceMatrix, family: String, _ wanted: [PlannedWeight]
    ) throws -> [String: ActivationStatistics] {
        if let weight = wanted.first(where: { $0.choice.codec.method != .weighted }) {
            throw RequestError(
                "method=\(weight.choice.codec.method.rawValue) for \(weight.source.name) wants more than the importance of "
                    + "columns: use method=weighted, or samples", code: .needsSamples)
        }
        guard !wanted.isEmpty else {
            throw RequestError(
                "nothing uses the importance matrix \(importance.path): choose a scheme with method=weighted")
        }
        let columns = Dictionary(wanted.map { ($0.source.name, $0.source.shape.columns) }) { first, _ in first }
        return try importance.statistics(of: columns, family: family)
    }

    /// Returns the statistics that a recipe refers to.
    /// - Throws: `RequestError` if the recipe was changed so that its statistics are no longer right; `FormatError` for another file.
    private static func statistics(
        _ reference: Recipe.StatisticsReference, besides recipe: String?, _ plan: [PlannedWeight], threads: Int
    ) throws -> [String: ActivationStatistics] {
        let folder = recipe.flatMap(Files.parentFolder) ?? "."
        let path = reference.file.hasPrefix("/") ? reference.file : "\(folder)/\(reference.file)"
        guard Files.kind(of: path) != nil else {
            throw RequestError(
                "\(recipe ?? "the recipe") refers to the statistics \(path), which are not there: copy them beside it, or give "
                    + "the samples", status: .unavailable, code: .needsSamples)
        }
        let file = try SafetensorsFile(path)
        // Checked before and after the read: the file is mapped and may change meanwhile.
        func requireThatFile() throws {
            let digest = try TreeDigest.digest(of: file.bytes, threads: threads)
            guard digest == reference.digest, file.identity == Files.identity(of: path) else {
                throw FormatError(
                    file: path, reason: "is not the file of statistics that \(recipe ?? "the recipe") was made with")
            }
        }
        try requireThatFile()
        let statistics = try StatisticsFile.read(file, path: path)
        let schemes = StatisticsFile.schemes(in: file)
        try requireThatFile()
        try require(schemes, of: statistics, in: plan, by: recipe ?? "the recipe")
        return statistics
    }

    /// Checks that a recipe still has the schemes that its statistics were collected with. Those for `gptq` depend on the schemes of
    /// all weights before; those of the original weights do not.
    /// - Parameter schemes: as in the file of statistics.
    private static func require(
        _ schemes: [String: String], of statistics: [String: ActivationStatistics], in plan: [PlannedWeight],
        by recipe: String
    ) throws {
        let resolved = plan.map { weight in
            let isKnown = statistics[weight.source.name] != nil
            return isKnown ? weight : weight.replacing(weight.choice.codec.dataFree)
        }
        guard !schemes.isEmpty, resolved.contains(where: { $0.choice.codec.method == .gptq }) else { return }
        let own = resolved.schemes
        guard let weight = resolved.first(where: { own[$0.source.name] != schemes[$0.source.name] }) else { return }
        let (name, stored) = (weight.source.name, StoredCodec.name)
        func short(_ scheme: String?) -> String { (try? Codecs.codec(scheme ?? stored).specification) ?? stored }
        throw RequestError(
            "\(recipe) stores \(name) as \(short(own[name])), and its statistics are those for \(short(schemes[name])): with "
                + "method=gptq they depend on the schemes of all weights; leave the rule as it was, or give samples",
            code: .needsSamples)
    }

    /// Returns the recipe with its calibrated weights set: all other weights get the data-free form of their codec.
    func resolving(_ recipe: Recipe) -> Recipe {
        var recipe = recipe
        recipe.calibratedWeights = samples.map(\.part).multipliedWeights.union(statistics.keys)
        return recipe
    }

    /// Searches channel scalings for the weights with method=awq. Later runs over the samples use the scaled weights.
    /// - Returns: the search with its results; nil if no weight has the method.
    mutating func scaling(
        _ parts: [Program], planned plan: [PlannedWeight], memory: (any StatisticsMemory)?
    ) throws -> ScalingSearch? {
        guard plan.contains(where: { $0.choice.codec.method == .awq }) else { return nil }
        var search = ScalingSearch(parts, plan: plan, threads: threads)
        if samples.isEmpty { try search.run(given: statistics) } else { try search.run(samples, memory: memory) }
        samples = samples.map { $0.replacing(search.found.tensors) }
        return search
    }

    /// Returns the fixed ranges that a recipe asks for, by the name of the weight that activations are multiplied with.
    /// - Throws: `RequestError` if the samples do not reach a weight.
    func activationRanges(in functions: [FrozenProgram], by recipe: Recipe) throws -> [String: RowRounding] {
        let wanted = functions.reduce(into: Set<String>()) {
            $0.formUnion($1.program.weightsOfFixedRanges(by: recipe))
        }
        let found = try samples.inputRanges(of: wanted, threads: threads).compactMapValues(\.rounding)
        if let name = wanted.subtracting(found.keys).min() {
            throw RequestError(
                "the samples give no range for what \(name) is multiplied with: they do not reach it, or are not finite "
                    + "there; give others, or a rule for it with activations int8 or none")
        }
        return found
    }

    /// Smooths the activations for which a recipe asks for that. Later runs over the samples use the scaled weights.
    mutating func smoothing(
        _ parts: [Program], planned plan: [PlannedWeight], by recipe: Recipe
    ) throws -> ScaledWeights {
        var smoothing = ActivationSmoothing(parts, plan: plan, by: recipe, threads: threads)
        try smoothing.run(samples)
        samples = samples.map { $0.replacing(smoothing.found.tensors) }
        return smoothing.found
    }

    /// The statistics of a weight that are known without a run over samples.
    func known(of weight: String) -> ActivationStatistics? { samples.isEmpty ? statistics[weight] : nil }

    /// Compresses the weights whose codecs use activation statistics.
    func compressing(
        _ plan: [PlannedWeight], stored: [CompressedTensor], keptIn kept: KeptTensors,
        memory: (any StatisticsMemory)?, progress: (StoredTensor, _ isFound: Bool) throws -> Void
    ) throws -> [String: CompressedWeight] {
        // The codecs of cached results by weight, so that these are not stored again.
        var found: [String: CodecOptionValues] = [:]
        var sharedWork: [String: SharedEncodings] = [:]
        let shared = (memory as? any SharedStatisticsMemory).flatMap { $0.isNear ? $0 : nil }
        func known(
            _ weight: PlannedWeight, _ statistics: ActivationStatistics
        ) throws -> (tensor: CompressedTensor, distortion: Distortion)? {
            let codec = weight.choice.codec
            // With gptq, these statistics decide whether the data-free codes are better, so either result may be in the cache.
            // With weighted, the outputs of the whole model decide that later.
            for codec in codec.method == .gptq ? [codec, codec.dataFree] : [codec] {
                let result = try kept.stored(weight.source, codec, statistics.digest, claims: shared == nil)
                guard let result else { continue }
                found[weight.source.name] = result.0.codec.values
                return result
            }
            return nil
        }
        func source(_ weight: PlannedWeight) throws -> StoredTensor {
            try kept.reading(weight.source, threads: threads).resident(threads: threads)
        }
        func compress(
            _ weights: [PlannedWeight], _ statistics: ActivationStatistics
        ) throws -> [(tensor: CompressedTensor, distortion: Distortion)] {
            for weight in weights where statistics.columns != weight.source.shape.columns {
                throw weight.source.error(
                    "has \(weight.source.shape.columns) columns, but statistics of \(statistics.columns)")
            }
            var results = try weights.map { weight in
                let known = try known(weight, statistics)
                if known != nil { try progress(weight.source, true) }
                return known
            }
            let missing = results.indices.filter { results[$0] == nil }
            if let shared, !missing.isEmpty {
                let encodings = SharedEncodings(
                    try missing.map { index in
                        let (weight, codec) = (weights[index], weights[index].choice.codec)
                        let work = try JudgedCompression(source(weight), with: codec, by: statistics)
                        let job = "\(statistics.digest) \(codec.values.fullRequest)"
                        return .init(work, named: weight.source.name, job: SHA256.digest(of: job))
                    }, in: shared)
                let made = try encodings.encodings(threads: threads) { try known(weights[missing[$0]], statistics) }
                for (index, result) in zip(missing, made) { results[index] = result }
                for index in missing { sharedWork[weights[index].source.name] = encodings }
            }
            for index in missing {
                if shared == nil {
                    results[index] = try CompressedTensor.compressing(
                        source(weights[index]), with: weights[index].choice.codec, judgedBy: statistics,
                        threads: threads)
                }
                try progress(weights[index].source, found[weights[index].source.name] != nil)
            }
            return results.compactMap(\.self)
        }
        func keep(_ weight: PlannedWeight, _ made: SequentialCompression.Result) throws -> CompressedTensor {
            if found[weight.source.name] == made.tensor.codec.values { return made.tensor }
            let isPlain = weight.choice.codec.method == .weighted && made.tensor.codec.method == .nearest
            defer { sharedWork.removeValue(forKey: weight.source.name)?.remove(weight.source.name) }
            return try kept.store(
                weight.source, made.tensor, made.distortion, isPlain ? nil : made.statistics?.digest)
        }
        var made: [String: (CompressedTensor, Distortion)] = [:]
        if samples.isEmpty {
            for weight in plan {
                guard let known = statistics[weight.source.name] else { continue }
                let (tensor, distortion) = try compress([weight], known)[0]
                let result = SequentialCompression.Result(tensor: tensor, distortion: distortion, statistics: known)
                made[weight.source.name] = (try keep(weight, result), distortion)
            }
        } else {
            made = try SequentialCompression(
                samples, memory: memory, reading: kept.reading, finished: finishedRuns, threads: threads
            ).run(plan, stored: stored, compress: compress, keep: keep).mapValues { ($0.tensor, $0.distortion) }
        }
        return Dictionary(
            uniqueKeysWithValues: plan.compactMap { weight in
                made[weight.source.name].map { tensor, distortion in
                    (
                        weight.source.name,
                        CompressedWeight(tensor: tensor, distortion: distortion, readers: weight.readers)
                    )
                }
            })
    }
}

extension Diagnostic.Code {
    package static let needsSamples: Self = "needs-samples"
    /// A method uses the inputs of weights, and there are neither samples nor an importance matrix.
    package static let unknownInputs: Self = "unknown-inputs"
    package static let unusedSamples: Self = "unused-samples"
}
