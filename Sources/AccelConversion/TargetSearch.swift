import AccelCalibration
import AccelPackages
import AccelWeightCompression

/// The search of schemes for a target. The cache stores its result, and so does a folder beside the output.
struct TargetSearch {
    private let target: CompressionTarget
    private let unsupported: UnsupportedSchemes
    /// The draft of the compression plan, published with the package or export; nil for none.
    let folder: PlanFolder?
    /// The result of the search; nil before `recall` or `planned(_:)`.
    private(set) var found: SolvedTarget?
    /// `found` comes from a search of this run.
    private var isNew = false

    /// nil for a request without a target.
    /// - Parameters:
    ///   - output: the path that the folder of the compression plan is beside; nil writes no plan.
    ///   - unsupported: the schemes that the search leaves out.
    init?(
        _ request: Conversion, _ settings: ConversionSettings, beside output: String?,
        without unsupported: UnsupportedSchemes = UnsupportedSchemes()
    ) throws {
        guard let target = request.target else { return nil }
        (self.target, self.unsupported) = (target, unsupported)
        let path = settings.writesPlan ? output.map { settings.planFolder ?? "\($0).plan" } : nil
        folder = try path.map { try PlanFolder($0) }
    }

    /// Takes the result of an earlier search for the same request, if the cache has it.
    /// - Parameter key: the key of the request's package.
    mutating func recall(
        _ key: CacheKey, in cache: Cache, for planned: PlannedModel, emit: (ConversionEvent) -> Void
    ) throws {
        found = SolvedTarget(planKey(key), in: cache, for: planned.recipe)
        try report(emit)
    }

    /// Returns the model with the schemes that the target chooses. Nothing is searched after `recall` has found the choice.
    mutating func planned(_ planned: PlannedModel, emit: (ConversionEvent) -> Void) throws -> PlannedModel {
        if let found { return try planned.choosing(found) }
        let solved = try target.solve(
            planned.recipe, planned.functions, planned.calibration, where: unsupported.filter, emit: emit)
        (found, isNew) = (solved, true)
        try report(emit)
        return try planned.choosing(solved)
    }

    private func report(_ emit: (ConversionEvent) -> Void) throws {
        guard let found else { return }
        found.choice.events.forEach(emit)
        try folder?.write(found)
    }

    /// Stores the result of a search of this run. The model's files have to be known to match the key.
    func keep(_ key: CacheKey, in cache: Cache, model: String) {
        if isNew { found?.keep(as: planKey(key), in: cache, model: model) }
    }

    /// The result of the target; nil before it is known.
    var result: TargetResult? { found.map { TargetResult($0.choice, in: folder) } }

    private func planKey(_ package: CacheKey) -> CacheKey {
        CacheKey(planOf: package, schemes: CompressionSolver.schemes + unsupported.text)
    }
}
