import AccelByteIO
package import AccelCalibration
import AccelPrograms
import AccelTensors
package import AccelWeightCompression

/// A target for the size or the accuracy of a package's weights. Schemes are chosen weight by weight, for those that no
/// rule of the recipe fits.
public struct CompressionTarget: Sendable {
    let goal: BudgetGoal
    /// As the cache's key, plans and sentences have it, e.g. `size 12MB`.
    let text: String

    package init(_ goal: BudgetGoal, text: String) { (self.goal, self.text) = (goal, text) }

    /// All stored weights take at most so many bytes.
    public static func bytes(_ count: Int) -> CompressionTarget {
        CompressionTarget(.bytes(count), text: "size \(count)")
    }
    /// At most so many bits a weight, on average over those to choose for.
    public static func bitsPerWeight(_ bits: Double) -> CompressionTarget {
        CompressionTarget(.bits(bits), text: "bits \(bits)")
    }
    /// The smallest weights whose outputs over the samples have at least so many dB.
    public static func sqnr(_ decibels: Double) -> CompressionTarget {
        CompressionTarget(.sqnr(decibels), text: "sqnr \(decibels)")
    }

    /// What the target may choose from fits a weight that this one fits.
    private static func anyScheme() throws -> any WeightCodec { try Codecs.codec("palette:bits=4") }

    /// The recipe where the request has none: all weights are free.
    package static func freeRecipe() throws -> Recipe { Recipe(default: try anyScheme()) }

    /// Chooses schemes for the weights that no rule of `recipe` fits; the others stay as it says, and count.
    /// - Parameter folder: gets the plan, and is not published.
    /// - Returns: the recipe, with the statistics that its codecs were given; all that was measured; and the choice.
    func solve(
        _ recipe: Recipe, _ functions: [FrozenProgram], _ calibration: ModelCalibration, in folder: PlanFolder
    ) throws -> (recipe: Recipe, calibration: ModelCalibration, choice: TargetChoice) {
        let anyScheme = try Self.anyScheme()
        let planned = recipe.plan(for: functions)
        func isFree(_ weight: PlannedWeight) -> Bool {
            let source = weight.source
            return weight.choice.rule == nil
                && anyScheme.unsupportedReason(elementType: source.elementType, shape: source.shape) == nil
        }
        let free = planned.filter(isFree)
        guard !free.isEmpty else {
            throw RequestError(
                "a target chooses for the matrices that no rule of the recipe fits, and there is none: leave out a rule"
            )
        }
        let given = planned.filter { !isFree($0) }
        if let weight = given.first(where: { $0.choice.codec.method == .awq }) {
            throw RequestError(
                "method=awq for \(weight.source.name) does not go together with a target; choose method=gptq")
        }
        let pinned = given.filter { $0.choice.codec.method.usesStatistics }
        let others = given.filter { !$0.choice.codec.method.usesStatistics }
        let stored = try Parallel.map(others.count, threads: calibration.threads) {
            try CompressedTensor.compressing(others[$0].source, with: others[$0].choice.codec, threads: 1).tensor
        }
        let givenBytes = stored.reduce(0) { $0 + $1.byteCount } + pinned.reduce(0) { $0 + $1.storedBytes }
        let goal: BudgetGoal
        switch self.goal {
        case .bytes(let bytes):
            guard givenBytes < bytes else {
                throw RequestError(
                    "weights that are stored as they are or by rules take \(givenBytes) bytes, and the target is \(bytes)"
                )
            }
            goal = .bytes(bytes - givenBytes)
        case .bits(let bits): goal = .bits(bits)
        case .sqnr(let sqnr): goal = .sqnr(sqnr)
        }
        let solver = BudgetSolver(
            calibration.samples, weights: free, pinned: pinned, stored: stored, threads: calibration.threads)
        let (plan, front) = try solver.solve(goal)
        let statistics = plan.statistics.filter { plan.codecs[$0.key].map { $0.method == .gptq } ?? true }
        let choice = TargetChoice(target: text, plan: plan, rules: given.filter { $0.choice.rule != nil })
        let file = try folder.write(plan, front, statistics: statistics, choice)
        var solved = Recipe(
            default: recipe.defaultCodec,
            rules: recipe.rules
                + (try plan.codecs.sorted { $0.key < $1.key }.map { try Recipe.Rule(weight: $0.key, codec: $0.value) }))
        solved.statistics = statistics.isEmpty ? nil : file
        try folder.write(solved)
        let known = ModelCalibration(statistics: statistics, threads: calibration.threads)
        return (known.resolving(solved), known, choice)
    }
}
