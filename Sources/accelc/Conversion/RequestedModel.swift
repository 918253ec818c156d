import ByteIO
import Calibration
import ModelFamilies
import Packages
import Programs
import Tensors
import WeightCompression

/// The model that a request names, frozen as it asks, and how its weights are to be stored: what commands that convert
/// begin with.
struct RequestedModel {
    let request: ConversionRequest
    let checkpoint: Checkpoint
    let family: any ModelFamily
    let model: FamilyModel
    private(set) var functions: [FrozenProgram]
    /// By name, how weights were scaled before they are stored.
    private(set) var scalings: [String: ChannelScaling] = [:]
    /// By name, why weights that were to be scaled are not.
    private(set) var unscaled: [String: String] = [:]
    private(set) var recipe: Recipe
    private var calibration: ModelCalibration
    private let threads: Int

    init(_ request: ConversionRequest, threads: Int) throws {
        self.request = request
        self.threads = threads
        checkpoint = try Checkpoint(model: request.model, configuration: request.configuration)
        family = try Families.matching(checkpoint.configuration)
        model = try family.model(for: checkpoint, parts: request.parts)
        functions = try request.freezing(model.programs)
        calibration = try ModelCalibration(request, parts: model.programs, threads: threads)
        recipe = calibration.resolving(request.recipe)
        try request.check(model.unused, plan)
    }

    /// How each weight will be stored.
    var plan: [PlannedWeight] { recipe.plan(for: functions) }

    /// Where the request has a target: chooses the scheme of each weight, and writes the choice to `folder`.
    mutating func meetTarget(writingPlanTo folder: String) throws {
        guard let budget = request.budget else { return }
        (recipe, calibration) = try budget.solve(recipe, functions, calibration, folder: folder)
    }

    /// Where the recipe has method=awq: scales channels of weights, so that their columns with large inputs get finer steps.
    /// The parameters are those of `compressed`.
    mutating func scaleChannels(remembering cache: Cache?, digests: ModelDigests?) throws {
        let memory = try KeptStatistics(cache, digests, samples: request.samples, model: request.model)
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

    /// Compresses every weight, but for those that are kept from before.
    /// - Parameters:
    ///   - cache: where statistics are kept, and those of before are found.
    ///   - digests: of the model's files; nil: nothing depends on them yet, they are computed beside this.
    func compressed(
        keptIn kept: KeptTensors, remembering cache: Cache?, digests: ModelDigests?, progress: ProgressBar
    ) throws -> (program: CompressedProgram, digests: ModelDigests) {
        let (checkpoint, threads) = (checkpoint, threads)
        kept.prefetch(plan.map { ($0.source, $0.choice.codec) })
        let memory = try KeptStatistics(cache, digests, samples: request.samples, model: request.model)
        let (compressed, digests) = try Parallel.alongside(
            threads: threads, { try digests ?? ModelDigests(checkpoint, cache: nil, threads: threads) }
        ) {
            try recipe.compressing(
                functions, threads: threads, stored: kept.stored, store: kept.store,
                calibrating: { plan, stored in
                    try calibration.compressing(plan, stored: stored, keptIn: kept, memory: memory) {
                        progress.step($0.name)
                    }
                },
                progress: { progress.step($0.name) })
        }
        return (compressed, digests)
    }
}
