import AccelByteIO
import AccelCalibration
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// A target for the size or the accuracy of a package's weights.
struct BudgetRequest {
    static let size = Option(
        "target-size", .text("SIZE"),
        "choose schemes weight by weight, for those that no rule of the recipe fits, so that all stored weights take at "
            + "most so many bytes, e.g. 12MB",
        affectsOutput: true, excludes: ["target-bits", "min-sqnr", "compress"])
    static let bits = Option(
        "target-bits", .text("BITS"), "the same for so many bits a weight, on average over those to choose for",
        affectsOutput: true, excludes: ["min-sqnr", "compress"])
    static let sqnr = Option(
        "min-sqnr", .text("DB"), "the smallest weights whose outputs over the samples have at least so many dB",
        affectsOutput: true, excludes: ["compress"])
    static let plan = Option(
        "plan", .output("DIR") { _ in PlanFolder.kind },
        "where the choice is written: a recipe that makes the same package without samples, its statistics, and all "
            + "that was measured (default: OUT.plan)",
        needs: [.option("target-size"), .option("target-bits"), .option("min-sqnr")],
        implied: { arguments in
            guard [size, bits, sqnr].contains(where: arguments.has) else { return nil }
            return arguments[PackageOutput.output].map { "\(Files.trimmingSlashes($0)).plan" }
        })
    static let options = [size, bits, sqnr, plan]

    enum Target {
        case bytes(Int)
        case bits(Double)
        case sqnr(Double)
    }
    let target: Target
    let text: String

    /// nil: there is no target.
    init?(_ arguments: Arguments) throws {
        func number(_ option: Option, _ text: String) throws -> Double {
            guard let number = Double(text), number.isFinite, number > 0 else {
                throw RequestError("--\(option.name) \(text): expected a number above 0")
            }
            return number
        }
        if let text = arguments[Self.size] {
            let units: [(String, Double)] = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1), ("", 1)]
            let unit = units.first { text.hasSuffix($0.0) } ?? ("", 1)
            let bytes = try number(Self.size, String(text.dropLast(unit.0.count))) * unit.1
            guard bytes < 1e18 else { throw RequestError("--target-size \(text) is too large") }
            target = .bytes(Int(bytes))
            self.text = "size \(text)"
        } else if let text = arguments[Self.bits] {
            target = .bits(try number(Self.bits, text))
            self.text = "bits \(text)"
        } else if let text = arguments[Self.sqnr] {
            target = .sqnr(try number(Self.sqnr, text))
            self.text = "sqnr \(text)"
        } else {
            return nil
        }
    }

    /// What the target may choose from fits a weight that this one fits.
    private static func anyScheme() throws -> any WeightCodec { try Codecs.codec("palette:bits=4") }

    /// The recipe where the request has none: all weights are free.
    static func freeRecipe() throws -> Recipe { Recipe(default: try anyScheme()) }

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
                && anyScheme.objection(elementType: source.elementType, shape: source.shape) == nil
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
        let pinned = given.filter { $0.choice.codec.method.isToldOfInputs }
        let others = given.filter { !$0.choice.codec.method.isToldOfInputs }
        let stored = try Parallel.map(others.count, threads: calibration.threads) {
            try CompressedTensor.compressing(others[$0].source, with: others[$0].choice.codec, threads: 1).tensor
        }
        let givenBytes = stored.reduce(0) { $0 + $1.byteCount } + pinned.reduce(0) { $0 + $1.byteCount }
        let goal: BudgetGoal
        switch target {
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

extension PlannedWeight {
    /// As it will be stored.
    fileprivate var byteCount: Int {
        choice.codec.sections(elementType: source.elementType, shape: source.shape).reduce(0) { $0 + $1.byteCount }
    }
}
