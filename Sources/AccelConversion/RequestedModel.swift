import AccelByteIO
import AccelCalibration
import AccelFormats
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The model of a request, frozen to its shapes, with the scheme of each weight: the first stage of conversions and exports.
struct RequestedModel {
    let request: Conversion
    let source: any ModelSource
    /// Its decoders compute the logits that the request asks for.
    let model: SourceModel
    /// The programs that run over samples. They compute all logits, so that activation statistics do not depend on the choice.
    private let measured: [Program]
    private(set) var functions: [FrozenProgram]
    /// The channel scalings that awq or the smoothing of activations applied, by weight.
    private(set) var scalings: [String: ChannelScaling] = [:]
    /// The reasons why weights with method=awq are not scaled, by weight.
    private(set) var unscaled: [String: String] = [:]
    private(set) var recipe: Recipe
    private var calibration: ModelCalibration
    /// Remarks on the model's files and warnings on the request.
    let warnings: [String]
    /// `warnings` without the remarks that a package records: its summary has these.
    var unrecordedWarnings: [String] { warnings.filter { !model.remarks.contains($0) } }
    /// Sentences on the samples.
    let notes: [String]
    /// What the target's search found; nil before `recallTarget` or `meetTarget`, and without a target.
    private(set) var solved: SolvedTarget?
    /// `solved` comes from a search of this run.
    private var isSearched = false
    /// The draft of the compression plan, published with the package or export; nil for none.
    private(set) var planFolder: PlanFolder?
    private let settings: ConversionSettings
    /// What the format of an export cannot have, so that a target does not choose it.
    var unsupported = UnsupportedSchemes()

    /// - Parameter output: the package's destination; nil for an export, whose outputs are in the request.
    init(_ request: Conversion, writing output: PackageOutput?, _ settings: ConversionSettings) throws {
        self.settings = settings
        try settings.cancellation.check()
        source = try request.source()
        let whole = try request.model(of: source)
        model = try request.choosingLogits(of: whole)
        var request = try request.settled(for: model, of: source)
        measured = whole.programs
        let written = output.map { [NamedPath(name: "the package", path: $0.path)] } ?? []
        try (request.outputs.isEmpty ? written : request.outputs)
            .requireApart(fromSources: source.files.sources.map(\.path) + (model.functions == nil ? [] : [source.path]))
        functions = try request.freezing(model)
        request.recipe = try request.resolvedRecipe(for: functions, of: model.family)
        self.request = request
        calibration = try ModelCalibration(
            request, parts: measured, family: model.family, plan: request.recipe.plan(for: functions),
            threads: settings.threads)
        recipe = calibration.resolving(request.recipe)
        let plan = recipe.plan(for: functions)
        warnings =
            source.remarks + model.remarks + (try request.check(model, plan))
            + calibration.warnings(plan, target: request.target != nil)
        notes = calibration.notes + [request.samples?.remark].compactMap { $0 }
    }

    /// The scheme of each weight.
    var plan: [PlannedWeight] { recipe.plan(for: functions) }

    /// Returns the functions with activations rounded as the recipe requests, as packages and exports have them.
    /// - Parameter ranges: the fixed ranges; without them, functions have the operators of packages, with other numbers.
    func quantizedFunctions(_ ranges: [String: RowRounding] = [:]) throws -> [FrozenProgram] {
        try functions.map { try $0.quantizingActivations(by: recipe, ranges: ranges) }
    }

    /// The weights that can be compressed independently, with the digest of the activation statistics that their codecs use,
    /// and the number of other weights, which depend on earlier weights or on a run over samples.
    var independent: (weights: [(weight: PlannedWeight, statistics: Digest?)], others: Int) {
        let plan = plan
        let weights: [(PlannedWeight, Digest?)] = plan.compactMap { weight in
            guard weight.choice.codec.method.usesStatistics else { return (weight, nil) }
            return calibration.known(of: weight.source.name).map { (weight, $0.digest) }
        }
        return (weights, plan.count - weights.count)
    }

    /// Drafts the folder of the compression plan beside an output, if the request has a target and wants a plan.
    mutating func draftPlan(beside output: String) throws {
        guard request.target != nil, settings.writesPlan else { return }
        planFolder = try PlanFolder(settings.planFolder ?? "\(output).plan")
    }

    /// Takes what an earlier search for the same request found, if the cache has it.
    /// - Parameter key: the key of the request's package.
    mutating func recallTarget(_ key: CacheKey, in cache: Cache, emit: (ConversionEvent) -> Void) throws {
        guard request.target != nil else { return }
        solved = SolvedTarget(planKey(key), in: cache, for: recipe)
        guard let solved else { return }
        solved.choice.events.forEach(emit)
        try planFolder?.write(solved)
    }

    /// Chooses the scheme of each weight if the request has a target, and writes the compression plan. Nothing is searched after
    /// `recallTarget` has found the choice.
    mutating func meetTarget(emit: (ConversionEvent) -> Void) throws {
        guard let target = request.target else { return }
        try settings.cancellation.check()
        let found = try solved ?? target.solve(recipe, functions, calibration, where: unsupported.filter, emit: emit)
        if solved == nil {
            (solved, isSearched) = (found, true)
            found.choice.events.forEach(emit)
            try planFolder?.write(found)
        }
        calibration = ModelCalibration(statistics: try found.statistics(), threads: settings.threads)
        recipe = calibration.resolving(found.recipe)
    }

    /// Keeps what the target's search found. Call it after `finish`, when the files are known to have matched the key all along.
    func keepTarget(_ key: CacheKey, in cache: Cache) {
        if isSearched { solved?.keep(as: planKey(key), in: cache, model: request.model) }
    }

    private func planKey(_ package: CacheKey) -> CacheKey {
        CacheKey(planOf: package, schemes: CompressionSolver.schemes + unsupported.text)
    }

    /// Scales channels of the weights with method=awq, so that columns with large inputs get finer quantisation steps (AWQ,
    /// arXiv:2306.00978); or smooths activations, so that they do (SmoothQuant, arXiv:2211.10438). A request has one of the two.
    /// - Parameter memory: cached statistics; new ones are added.
    mutating func scaleChannels(remembering memory: KeptStatistics?) throws {
        if let search = try calibration.scaling(measured, planned: plan, memory: memory) {
            try apply(search.found)
            unscaled = search.reasons
            recipe.calibratedWeights?.subtract(unscaled.keys)
        } else if recipe.smoothsActivations {
            try apply(try calibration.smoothing(measured, planned: plan, by: recipe))
        }
    }

    private mutating func apply(_ weights: ScaledWeights) throws {
        functions = try functions.map { function in try function.applying { $0.replacing(weights.tensors) } }
        scalings = weights.scalings
    }

    /// Stores these weights as plain numbers, because the output format does not support their schemes.
    mutating func leavePlain(_ names: [String], as scheme: String) throws {
        let plain = try Codecs.codec(scheme)
        recipe.rules = try names.sorted().map { try Recipe.Rule(weight: $0, codec: plain) } + recipe.rules
    }

    /// The cached statistics of the model's files; nil if configuration fields are ignored or activations smoothed, because the
    /// key does not cover these.
    func statistics(in cache: Cache?, _ digests: ModelDigests) -> KeptStatistics? {
        guard request.ignoredFields.isEmpty, !recipe.smoothsActivations else { return nil }
        return KeptStatistics(
            cache, digests, samples: request.samples, family: model.versionedName, model: request.model)
    }

    /// Compresses every weight that the cache does not have.
    /// - Parameters:
    ///   - kept: cached weights; new ones are added.
    ///   - memory: cached statistics; new ones are added.
    ///   - digests: digests of the model's files; missing ones are computed beside the compression.
    ///   - emit: receives the events.
    func compressed(
        keptIn kept: KeptTensors, remembering memory: KeptStatistics?, digests: ModelDigests,
        emit: (ConversionEvent) -> Void
    ) throws -> CompressedProgram {
        let ranges = try calibration.activationRanges(in: functions, by: recipe)
        return CompressedProgram(
            functions: try quantizedFunctions(ranges),
            weights: try compressed(plan, keptIn: kept, remembering: memory, digests: digests, emit: emit))
    }

    /// Compresses some of the weights.
    func compressed(
        _ plan: [PlannedWeight], keptIn kept: KeptTensors, remembering memory: KeptStatistics?, digests: ModelDigests,
        emit: (ConversionEvent) -> Void
    ) throws -> [CompressedWeight] {
        let (threads, cancellation) = (settings.threads, settings.cancellation)
        emit(.stage("compressing", total: plan.count))
        var done = 0
        func progress(_ source: StoredTensor, isFound: Bool) {
            let outcome: CacheOutcome = isFound ? .hit : settings.cache == nil ? .off : .miss
            emit(ConversionEvent(.weight, source.name, done: done, total: plan.count, cache: outcome))
            done += 1
        }
        kept.prefetch(plan.map { ($0.source, $0.choice.codec, calibration.known(of: $0.source.name)?.digest) })
        let (weights, _) = try Parallel.alongside(
            threads: threads, { try digests.complete(except: plan.map(\.source)) }
        ) {
            try plan.compressing(
                threads: threads,
                stored: { source, codec in
                    try encoding(of: source, by: codec) ?? kept.stored(source, codec)
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

    /// Returns the encoding that the model's files have of a weight; nil if they have none by this codec, or if the weight's
    /// channels were scaled.
    private func encoding(
        of source: StoredTensor, by codec: any WeightCodec
    ) throws -> (CompressedTensor, Distortion)? {
        guard let encoded = model.encoded[source.name], encoded.codec.values == codec.values,
            encoded.shape == source.shape, scalings[source.name] == nil
        else { return nil }
        return (try encoded.stated(as: source.elementType).tensor(), try source.losslessDistortion())
    }

    /// A sentence on weights that are stored without the method of their scheme, because the samples did not bear it out, or because
    /// they have no inputs; none if there are none.
    func withoutMethod(_ weights: [CompressedTensor]) -> [String] {
        let stored = Dictionary(weights.map { ($0.name, $0.codec.method) }) { first, _ in first }
        let names = plan.filter {
            $0.choice.codec.method.usesStatistics && stored[$0.source.name] == CalibrationMethod.nearest
        }.map(\.source.name)
        // Rules whose method no weight uses are told before.
        let used = Set(plan.filter { $0.choice.codec.method != .nearest }.map(\.choice.rule))
        let unread = plan.filter { weight in
            let asked = recipe.asked(by: weight.choice.rule)
            return used.contains(weight.choice.rule) && asked.method != .nearest
                && weight.choice.codec.method == .nearest
                && weight.source.shape.hasOutputChannels
        }.map(\.source.name)
        let multiplied = functions.map(\.program).multipliedWeights
        return PackageCoverage.sentences(
            names.map { (name: $0, reason: "it was no better on what is held out of the samples") }
                + unread.map { name in
                    let reason =
                        multiplied.contains(name)
                        ? "the samples do not reach it; give the inputs of its part too, such as tokens"
                        : "no inputs are multiplied with it"
                    return (name: name, reason: reason)
                },
            "stored without the method of the recipe")
    }

    /// Returns the outputs over the samples with the weights of a finished package or export, from the cache if an earlier run has
    /// measured them; nil without samples. A failure, such as too little memory, is a note: the result is complete.
    /// - Parameters:
    ///   - weights: the weights as they are stored; nil if they are not at hand, and then nothing is measured.
    ///   - digest: identifies them; nil keeps no figures.
    func outputs(
        with weights: [CompressedTensor]?, of digest: Digest?, in cache: Cache?, emit: (ConversionEvent) -> Void
    ) -> SampledOutputs? {
        guard let samples = request.samples, !calibration.samples.isEmpty else { return nil }
        do {
            let kept = keptOutputs(of: digest, over: samples, in: cache)
            let found = kept?.found
            guard let outputs = try found ?? weights.map({ try calibration.outputs(with: $0) }) else { return nil }
            if found == nil { kept?.keep(outputs) }
            guard request.onlyMeasuresSamples else { return outputs }
            return SampledOutputs(sqnr: outputs.sqnr, heldOut: nil, heldOutCount: 0, outputs: outputs.outputs)
        } catch {
            emit(.note("the outputs over the samples are not measured: \(error)"))
            return nil
        }
    }

    /// Whether there are samples, and the cache has no figures of a result's outputs over them.
    func lacksOutputs(of digest: Digest?, in cache: Cache?) -> Bool {
        guard let samples = request.samples, !calibration.samples.isEmpty else { return false }
        return keptOutputs(of: digest, over: samples, in: cache)?.found == nil
    }

    private func keptOutputs(of digest: Digest?, over samples: SampleFile, in cache: Cache?) -> KeptOutputs? {
        digest.map { KeptOutputs(of: $0, samples: samples.digest, model: request.model, in: cache) }
    }

    /// Checks that the model's files still match their digests, and publishes the new statistics.
    func finish(_ digests: ModelDigests, _ memory: KeptStatistics?) throws {
        try digests.requireUnchanged(used: model.used, isReadInPlace: request.samples != nil || model.isReadInPlace)
        try source.requireUnchanged()
        memory?.publish()
    }
}
