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
    /// - Parameter emit: receives the progress.
    /// - Throws: `RequestError` if no weight is free, a rule has method=awq, or the size budget is too small.
    func solve(
        _ recipe: Recipe, _ functions: [FrozenProgram], _ calibration: ModelCalibration,
        where isAllowed: SchemeFilter?, emit: (ConversionEvent) -> Void
    ) throws -> SolvedTarget {
        let anyScheme = try Self.anyScheme()
        let planned = recipe.plan(for: functions)
        func isFree(_ weight: PlannedWeight) -> Bool {
            weight.choice.rule == nil && anyScheme.reasonToKeep(weight.source) == nil
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
        let givenBytes = given.reduce(0) { $0 + $1.storedBytes }
        try requireReachable(
            givenBytes: givenBytes,
            by: CompressionSolver(
                calibration.samples, weights: free, pinned: pinned, stored: [], where: isAllowed,
                threads: calibration.threads))
        let stored = try Parallel.map(others.count, threads: calibration.threads) {
            try CompressedTensor.compressing(others[$0].source, with: others[$0].choice.codec, threads: 1).tensor
        }
        var goal = self.goal
        if case .bytes(let bytes) = goal { goal = .bytes(bytes - givenBytes) }
        let solver = CompressionSolver(
            calibration.samples, weights: free, pinned: pinned, stored: stored, where: isAllowed,
            threads: calibration.threads)
        let solved = try solver.solve(goal) { ConversionEvent.search($0).forEach(emit) }
        let plan = solved.plan
        let statistics = plan.statistics.filter { plan.codecs[$0.key].map { $0.method == .gptq } ?? true }
        var limit: Int?
        if case .bytes(let bytes) = self.goal { limit = bytes }
        var chosen = recipe
        chosen.rules += try plan.codecs.sorted { $0.key < $1.key }.map {
            try Recipe.Rule(weight: $0.key, codec: $0.value)
        }
        return try SolvedTarget(
            TargetChoice(
                target: text, solved, rules: given.filter { $0.choice.rule != nil }, givenBytes: givenBytes,
                limit: limit),
            chosen, statistics, for: functions)
    }

    /// Rejects a size that the smallest schemes exceed, before anything is measured.
    /// - Parameter givenBytes: the bytes of the weights that the target does not choose for.
    private func requireReachable(givenBytes: Int, by solver: CompressionSolver) throws {
        let least = try solver.leastBytes()
        let needed: String
        switch goal {
        case .sqnr: return
        case .bytes(let bytes):
            guard givenBytes + least > bytes else { return }
            needed = "\(Wording.grouped(givenBytes + least)) bytes"
        case .bits(let bits):
            guard Int(bits * Double(solver.count) / 8) < least else { return }
            let thousandths = (least * 8000 + solver.count - 1) / max(solver.count, 1)
            needed = "\(NumberText.fixed(Double(thousandths) / 1000, digits: 3)) bits each"
        }
        let unreached = solver.unreachedCount
        let reason =
            unreached == 0
            ? ""
            : "; the samples have no inputs for the parts of \(Wording.count(unreached, "weight")), which keep their finest scheme"
        throw RequestError("target \(text): the weights take at least \(needed)\(reason)")
    }
}

extension ConversionEvent {
    /// The events of a step of a search: stages begin with their first step.
    fileprivate static func search(_ step: SearchStep) -> [ConversionEvent] {
        switch step {
        case .measuring(let weight, let index, let count):
            (index == 0 ? [.stage("measuring weights", total: count)] : [])
                + [ConversionEvent(.step, weight, done: index, total: count)]
        case .solving: [.stage("solving")]
        case .checking(let bits, let index):
            (index == 0 ? [.stage("checking outputs")] : [])
                + [ConversionEvent(.step, "\(NumberText.fixed(bits, digits: 2)) bits per weight", done: index)]
        }
    }
}
