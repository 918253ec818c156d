import AccelByteIO
import AccelCalibration
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// An opened model with the scheme of each weight: the second stage of conversions and exports.
struct PlannedModel {
    let opened: OpenedModel
    /// The functions that the recipe is for; those of the opened model until channels are scaled.
    let functions: [FrozenProgram]
    let recipe: Recipe
    let calibration: ModelCalibration
    /// The scheme of each weight.
    let plan: [PlannedWeight]

    private init(
        _ opened: OpenedModel, _ functions: [FrozenProgram], by recipe: Recipe, _ calibration: ModelCalibration
    ) {
        (self.opened, self.functions, self.recipe, self.calibration) = (opened, functions, recipe, calibration)
        plan = recipe.plan(for: functions)
    }

    /// Plans by the request's recipe. A target chooses other schemes later.
    init(_ opened: OpenedModel, threads: Int) throws {
        let request = opened.request
        let calibration = try ModelCalibration(
            request, parts: opened.measured, family: opened.model.family,
            plan: request.recipe.plan(for: opened.functions), threads: threads)
        self.init(opened, opened.functions, by: calibration.resolving(request.recipe), calibration)
    }

    /// Returns the model with the schemes that a target has chosen.
    func choosing(_ solved: SolvedTarget) throws -> PlannedModel {
        let calibration = ModelCalibration(statistics: try solved.statistics(), threads: calibration.threads)
        return PlannedModel(opened, functions, by: calibration.resolving(solved.recipe), calibration)
    }

    /// Returns the model with these weights as plain numbers, because the output format does not support their schemes.
    func leavingPlain(_ names: some Collection<String>, as scheme: String) throws -> PlannedModel {
        let plain = try Codecs.codec(scheme)
        var recipe = recipe
        recipe.rules = try names.sorted().map { try Recipe.Rule(weight: $0, codec: plain) } + recipe.rules
        return PlannedModel(opened, functions, by: recipe, calibration)
    }

    /// Returns the model with the functions, the calibration and the recipe that scaled channels give.
    func scaled(
        _ weights: ScaledWeights, _ calibration: ModelCalibration, unscaled: some Collection<String>
    ) throws -> PlannedModel {
        var recipe = recipe
        recipe.calibratedWeights?.subtract(unscaled)
        let functions = try functions.map { function in try function.applying { $0.replacing(weights.tensors) } }
        return PlannedModel(opened, functions, by: recipe, calibration)
    }

    /// Sentences on the samples.
    var notes: [String] { calibration.notes + [opened.request.samples?.remark].compactMap { $0 } }

    /// Returns remarks on the model's files and warnings on the request.
    /// - Parameter recorded: remarks that a package records, and its summary prints.
    /// - Throws: an error for each warning if the request is strict.
    func warnings(besides recorded: [String] = []) throws -> [Diagnostic] {
        let remarks = (opened.source.remarks + opened.model.remarks).filter { !recorded.contains($0) }
        let isTarget = opened.request.target != nil
        let others = try opened.check(plan)
        return remarks.map { Diagnostic($0) } + others
            + calibration.warnings(plan, target: isTarget).map { Diagnostic($0) }
    }

    /// Returns the functions with activations rounded as the recipe requests, as packages and exports have them.
    /// - Parameter ranges: the fixed ranges; without them, functions have the operators of packages, with other numbers.
    func quantizedFunctions(_ ranges: [String: RowRounding] = [:]) throws -> [FrozenProgram] {
        try functions.map { try $0.quantizingActivations(by: recipe, ranges: ranges) }
    }

    /// The weights that can be compressed independently, with the digest of the activation statistics that their codecs use,
    /// and the number of other weights, which depend on earlier weights or on a run over samples.
    var independent: (weights: [(weight: PlannedWeight, statistics: Digest?)], others: Int) {
        let weights: [(PlannedWeight, Digest?)] = plan.compactMap { weight in
            guard weight.choice.codec.method.usesStatistics else { return (weight, nil) }
            return calibration.known(of: weight.source.name).map { (weight, $0.digest) }
        }
        return (weights, plan.count - weights.count)
    }

    /// A sentence on weights that are stored without the method of their scheme, because the samples did not bear it out, or because
    /// they have no inputs; none if there are none.
    func withoutMethod(_ weights: [CompressedTensor]) -> [String] {
        let stored = Dictionary(weights.map { ($0.name, $0.codec.method) }) { first, _ in first }
        let names = plan.filter {
            $0.choice.codec.method.usesStatistics && stored[$0.source.name] == CalibrationMethod.nearest
        }.map(\.source.name)
        // Rules whose method no weight uses have a warning already.
        let used = Set(plan.filter { $0.choice.codec.method != .nearest }.map(\.choice.rule))
        let unread = plan.filter { weight in
            used.contains(weight.choice.rule) && recipe.asked(by: weight.choice.rule).method != .nearest
                && weight.choice.codec.method == .nearest && weight.source.shape.hasOutputChannels
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
}

// The outputs over the samples
extension PlannedModel {
    /// Returns the outputs over the samples with the weights of a finished package or export, from the cache if an earlier run has
    /// measured them; nil without samples. A failure, such as too little memory, is a note: the result is complete.
    /// - Parameters:
    ///   - weights: the weights as they are stored; nil if they are not at hand, and then nothing is measured.
    ///   - digest: identifies them; nil keeps no figures.
    func outputs(
        with weights: [CompressedTensor]?, of digest: Digest?, in cache: Cache?, emit: (ConversionEvent) -> Void
    ) -> SampledOutputs? {
        guard let samples = measuredSamples else { return nil }
        do {
            let kept = keptOutputs(of: digest, over: samples, in: cache)
            let found = kept?.found
            guard let outputs = try found ?? weights.map({ try calibration.outputs(with: $0) }) else { return nil }
            if found == nil { kept?.keep(outputs) }
            guard opened.request.onlyMeasuresSamples else { return outputs }
            return SampledOutputs(sqnr: outputs.sqnr, heldOut: nil, heldOutCount: 0, outputs: outputs.outputs)
        } catch {
            emit(.note("the outputs over the samples are not measured: \(error)"))
            return nil
        }
    }

    /// Whether there are samples, and the cache has no figures of a result's outputs over them.
    func lacksOutputs(of digest: Digest?, in cache: Cache?) -> Bool {
        guard let samples = measuredSamples else { return false }
        return keptOutputs(of: digest, over: samples, in: cache)?.found == nil
    }

    /// The samples that the model is run over; nil for none.
    private var measuredSamples: SampleFile? { calibration.samples.isEmpty ? nil : opened.request.samples }

    private func keptOutputs(of digest: Digest?, over samples: SampleFile, in cache: Cache?) -> KeptOutputs? {
        digest.map { KeptOutputs(of: $0, samples: samples.digest, model: opened.request.model, in: cache) }
    }
}
