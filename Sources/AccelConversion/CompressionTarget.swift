import AccelByteIO
package import AccelCalibration
import AccelPrograms
import AccelTensors
package import AccelWeightCompression

/// A target for the size or the accuracy of a package's weights. The solver chooses a scheme for each weight that no rule
/// of the recipe matches.
public struct CompressionTarget: Sendable {
    let goal: CompressionGoal
    /// The target in cache keys, compression plans and messages, e.g. `size 12MB`.
    let text: String

    package init(_ goal: CompressionGoal, text: String) { (self.goal, self.text) = (goal, text) }

    /// A limit on the bytes of all stored weights.
    public static func bytes(_ count: Int) -> CompressionTarget {
        CompressionTarget(.bytes(count), text: "size \(count)")
    }
    /// A limit on the average bits per weight, over the weights that the solver chooses schemes for.
    public static func bitsPerWeight(_ bits: Double) -> CompressionTarget {
        CompressionTarget(.bits(bits), text: "bits \(bits)")
    }
    /// The smallest weights with which the outputs over the samples reach this signal-to-noise ratio, in dB.
    public static func sqnr(_ decibels: Double) -> CompressionTarget {
        CompressionTarget(.sqnr(decibels), text: "sqnr \(decibels)")
    }

    /// A stand-in for all schemes of the solver: a weight that supports this one supports the others.
    private static func anyScheme() throws -> any WeightCodec { try Codecs.codec("palette:bits=4") }

    /// The recipe of a request without one: the solver chooses for every weight.
    package static func freeRecipe() throws -> Recipe { Recipe(default: try anyScheme()) }

    /// Chooses schemes for the weights that no rule of `recipe` matches. The others keep their rules' schemes, and their bytes
    /// count towards a size budget.
    /// - Parameter folder: receives the compression plan; it is not published here.
    /// - Returns: the recipe with a reference to its statistics, the statistics themselves, and the choice.
    /// - Throws: `RequestError` if no weight is free, a rule has method=awq, or the size budget is too small.
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
        let goal: CompressionGoal
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
        let solver = CompressionSolver(
            calibration.samples, weights: free, pinned: pinned, stored: stored, threads: calibration.threads)
        let solved = try solver.solve(goal)
        let plan = solved.plan
        let statistics = plan.statistics.filter { plan.codecs[$0.key].map { $0.method == .gptq } ?? true }
        var limit: Int?
        if case .bytes(let bytes) = self.goal { limit = bytes }
        let choice = TargetChoice(
            target: text, solved, rules: given.filter { $0.choice.rule != nil }, givenBytes: givenBytes, limit: limit)
        let file = try folder.write(solved, statistics: statistics, choice)
        var chosen = Recipe(
            default: recipe.defaultCodec,
            rules: recipe.rules
                + (try plan.codecs.sorted { $0.key < $1.key }.map { try Recipe.Rule(weight: $0.key, codec: $0.value) }))
        chosen.statistics = statistics.isEmpty ? nil : file
        try folder.write(chosen)
        let known = ModelCalibration(statistics: statistics, threads: calibration.threads)
        return (known.resolving(chosen), known, choice)
    }
}
