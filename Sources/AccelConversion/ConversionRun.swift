import AccelByteIO
import AccelCalibration
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The sequence that packages, exports and shards share: opened, planned, scaled and encoded, each stage made from the one before.
struct ConversionRun {
    let planned: PlannedModel
    let settings: ConversionSettings
    let digests: ModelDigests
    /// The key of the request's package; nil without a cache.
    let key: CacheKey?
    /// Compares the results with those of the cache; nil compares nothing.
    let comparison: CacheComparison?
    /// The search of the request's target; nil without one.
    var search: TargetSearch?
    /// The share of the calibration that this process makes; nil for all of it.
    var share: WeightShard?

    /// - Parameter planned: made by `Conversion.planned(writing:_:)`.
    init(_ planned: PlannedModel, _ settings: ConversionSettings, comparison: CacheComparison? = nil) throws {
        (self.planned, self.settings, self.comparison) = (planned, settings, comparison)
        // Without a cache nothing needs the digests yet; they are computed beside the compression.
        let digests = try planned.opened.source.digests(cache: settings.cache, threads: settings.threads)
        self.digests = digests
        key = try settings.cache.map { _ in try planned.opened.key(digests) }
    }

    private var request: Conversion { planned.opened.request }

    /// Takes what an earlier search for the same target found, if the cache has it.
    mutating func recallTarget(emit: (ConversionEvent) -> Void) throws {
        guard var search, let cache = settings.cache, let key, comparison == nil else { return }
        try search.recall(key, in: cache, for: planned, emit: emit)
        self.search = search
    }

    /// Returns the model with the schemes of its target or recipe, and scaled channels.
    /// - Parameter adapt: fits the plan to the format of an export.
    mutating func scaled(
        adapting adapt: (PlannedModel) throws -> PlannedModel = { $0 }, emit: (ConversionEvent) -> Void
    ) throws -> ScaledModel {
        try settings.cancellation.check()
        var chosen = planned
        if var search {
            chosen = try search.planned(planned, emit: emit)
            self.search = search
        }
        // The key of statistics covers neither ignored fields nor smoothed activations.
        let hasMemory = request.ignoredFields.isEmpty && !chosen.recipe.smoothsActivations && comparison == nil
        let memory =
            hasMemory
            ? KeptStatistics(
                settings.cache, digests, samples: request.samples, family: planned.opened.model.versionedName,
                model: request.model) : nil
        return try ScaledModel(adapt(chosen), remembering: memory)
    }

    /// Returns the cached weights, to which new ones are added.
    func kept(beside output: String, in draft: PackageDraft? = nil) -> KeptTensors {
        KeptTensors(
            cache: settings.cache, digests: digests, output: output, draft: draft, comparedIn: comparison,
            model: request.model, threads: settings.threads)
    }

    /// Returns the model with every weight compressed. Afterwards the model's files are known to match their digests.
    func encoded(
        _ scaled: ScaledModel, keptIn kept: KeptTensors, emit: (ConversionEvent) -> Void
    ) throws -> EncodedModel {
        let planned = scaled.planned
        let ranges = try planned.calibration.activationRanges(in: planned.functions, by: planned.recipe)
        let functions = try planned.quantizedFunctions(ranges)
        let weights = try weights(planned.plan, of: scaled, keptIn: kept, emit: emit)
        let encoded = try EncodedModel(scaled, functions, weights, digests: digests)
        try requireUnchanged(scaled)
        if let cache = settings.cache, let key { search?.keep(key, in: cache, model: request.model) }
        return encoded
    }

    /// Compresses some of the weights.
    /// - Parameters:
    ///   - kept: cached weights; new ones are added.
    ///   - emit: receives the events.
    func weights(
        _ plan: [PlannedWeight], of scaled: ScaledModel, keptIn kept: KeptTensors, emit: (ConversionEvent) -> Void
    ) throws -> [CompressedWeight] {
        let calibration = scaled.planned.calibration
        emit(.stage("compressing", total: plan.count))
        var done = 0
        func progress(_ source: StoredTensor, isFound: Bool) {
            let outcome: CacheOutcome = isFound ? .hit : settings.cache == nil ? .off : .miss
            emit(ConversionEvent(.weight, source.name, done: done, total: plan.count, cache: outcome))
            done += 1
        }
        kept.prefetch(plan.map { ($0.source, $0.choice.codec, calibration.known(of: $0.source.name)?.digest) })
        let (threads, cancellation, digests) = (settings.threads, settings.cancellation, digests)
        let shared = share.flatMap { share in scaled.memory?.shared(by: share) { try cancellation.check() } }
        let memory: (any StatisticsMemory)? = shared ?? scaled.memory
        let (weights, _) = try Parallel.alongside(
            threads: threads, { try digests.complete(except: plan.map(\.source)) }
        ) {
            try plan.compressing(
                threads: threads,
                stored: { source, codec in
                    try scaled.encoding(of: source, by: codec) ?? kept.stored(source, codec)
                },
                reading: {
                    try cancellation.check()
                    return try kept.reading($0, threads: $1)
                },
                store: kept.store,
                calibrating: { plan, stored in
                    try calibration.compressing(plan, stored: stored, keptIn: kept, memory: memory) {
                        try cancellation.check()
                        progress($0, isFound: $1)
                    }
                },
                progress: progress)
        }
        try digests.complete()
        return weights
    }

    /// Checks that the model's files still match their digests, and publishes the new statistics.
    func requireUnchanged(_ scaled: ScaledModel) throws {
        let opened = planned.opened
        try digests.requireUnchanged(
            used: opened.model.used, isReadInPlace: request.samples != nil || opened.model.isReadInPlace)
        try opened.source.requireUnchanged()
        scaled.memory?.publish()
    }
}

extension Conversion {
    /// Opens the model, and plans the schemes of its weights.
    /// - Parameter outputs: the paths that are written, where the request names none.
    func planned(writing outputs: [NamedPath] = [], _ settings: ConversionSettings) throws -> PlannedModel {
        try settings.cancellation.check()
        let opened = try OpenedModel(self, writing: self.outputs.isEmpty ? outputs : self.outputs)
        return try PlannedModel(opened, threads: settings.threads)
    }

    /// Returns the cache key of the package that this conversion makes. Reads the model's configuration, and hashes its weights
    /// unless the cache remembers the digests of these files.
    /// - Throws: as `convert`.
    public func cacheKey(in cache: Cache, threads: Int) throws -> CacheKey {
        let opened = try OpenedModel(self)
        if isStrict { _ = try opened.check(opened.request.recipe.plan(for: opened.functions)) }
        return try opened.key(opened.source.digests(cache: cache, threads: threads))
    }
}
