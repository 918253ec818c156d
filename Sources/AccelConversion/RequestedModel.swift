import AccelByteIO
import AccelCalibration
import AccelFormats
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The model that a request names, frozen as it asks, and how its weights are to be stored: what commands that convert
/// begin with.
struct RequestedModel {
    let request: Conversion
    let source: any ModelSource
    let model: SourceModel
    private(set) var functions: [FrozenProgram]
    /// By name, how weights were scaled before they are stored.
    private(set) var scalings: [String: ChannelScaling] = [:]
    /// By name, why weights that were to be scaled are not.
    private(set) var unscaled: [String: String] = [:]
    private(set) var recipe: Recipe
    private var calibration: ModelCalibration
    /// What is worth knowing of the model's files and of the request.
    let warnings: [String]
    /// What the request's target has chosen; nil before `meetTarget`, and where there is none.
    private(set) var choice: TargetChoice?
    /// The choice as a folder, to be published with what is made by it.
    private(set) var planFolder: PlanFolder?
    private let settings: ConversionSettings

    /// - Parameter output: where the package goes; nil for an export, which has its outputs among the request's.
    init(_ request: Conversion, writing output: PackageOutput?, _ settings: ConversionSettings) throws {
        self.request = request
        self.settings = settings
        try settings.cancellation.check()
        source = try request.source()
        model = try request.model(of: source)
        let written = output.map { [NamedPath(name: "the package", path: $0.path)] } ?? []
        try (request.outputs.isEmpty ? written : request.outputs)
            .requireApart(fromSources: source.files.sources.map(\.path) + (model.functions == nil ? [] : [source.path]))
        functions = try request.freezing(model)
        calibration = try ModelCalibration(
            request, parts: model.programs, plan: request.recipe.plan(for: functions), threads: settings.threads)
        recipe = calibration.resolving(request.recipe)
        warnings = source.remarks + model.remarks + (try request.check(model.unused, recipe.plan(for: functions)))
    }

    /// How each weight will be stored.
    var plan: [PlannedWeight] { recipe.plan(for: functions) }

    /// The weights that can be stored each by itself, with the digest of what their codecs are told of their inputs, and
    /// how many others there are: those wait for the weights before them, or for a run over samples.
    var independent: (weights: [(weight: PlannedWeight, statistics: Digest?)], others: Int) {
        let plan = plan
        let weights: [(PlannedWeight, Digest?)] = plan.compactMap { weight in
            guard weight.choice.codec.method.usesStatistics else { return (weight, nil) }
            return calibration.known(of: weight.source.name).map { (weight, $0.digest) }
        }
        return (weights, plan.count - weights.count)
    }

    /// Where the request has a target: chooses the scheme of each weight, and makes a draft of the folder that says so.
    mutating func meetTarget(writingPlanTo folder: String) throws {
        guard let target = request.target else { return }
        try settings.cancellation.check()
        let draft = try PlanFolder(folder)
        (recipe, calibration, choice) = try target.solve(recipe, functions, calibration, in: draft)
        planFolder = draft
    }

    /// Where the recipe has method=awq: scales channels of weights, so that their columns with large inputs get finer steps.
    /// - Parameter memory: where statistics are kept, and those of before are found.
    mutating func scaleChannels(remembering memory: KeptStatistics?) throws {
        guard let search = try calibration.scaling(model.programs, planned: plan, memory: memory) else { return }
        functions = try functions.map { function in try function.applying { $0.replacing(search.found.tensors) } }
        scalings = search.found.scalings
        unscaled = search.reasons
        recipe.calibratedWeights?.subtract(unscaled.keys)
    }

    /// Stores these weights, which the output cannot express as they are planned, in half precision.
    mutating func leavePlain(_ names: [String]) throws {
        let plain = try Codecs.codec("float16")
        recipe.rules = try names.sorted().map { try Recipe.Rule(weight: $0, codec: plain) } + recipe.rules
    }

    /// Where statistics are kept by the model's files; nil where fields are ignored, of which these do not tell.
    func statistics(in cache: Cache?, _ digests: ModelDigests) -> KeptStatistics? {
        guard request.ignoredFields.isEmpty else { return nil }
        return KeptStatistics(
            cache, digests, samples: request.samples, family: model.versionedName, model: request.model)
    }

    /// Compresses every weight, but for those that are kept from before.
    /// - Parameters:
    ///   - memory: where statistics are kept, and those of before are found.
    ///   - digests: of the model's files; those that nothing depended on yet are computed beside this.
    func compressed(
        keptIn kept: KeptTensors, remembering memory: KeptStatistics?, digests: ModelDigests,
        emit: (ConversionEvent) -> Void
    ) throws -> CompressedProgram {
        CompressedProgram(
            functions: functions,
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
        kept.prefetch(plan.map { ($0.source, $0.choice.codec) })
        let (weights, _) = try Parallel.alongside(
            threads: threads, { try digests.complete(except: plan.map(\.source)) }
        ) {
            try plan.compressing(
                threads: threads, stored: kept.stored,
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

    /// Checks that the files are those whose digests are known, and lets others find what samples told.
    func finish(_ digests: ModelDigests, _ memory: KeptStatistics?) throws {
        try digests.requireUnchanged(used: model.used, isReadInPlace: request.samples != nil || model.isReadInPlace)
        try source.requireUnchanged()
        memory?.publish()
    }
}
