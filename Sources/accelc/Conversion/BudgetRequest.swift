import ByteIO
import Calibration
import Programs
import Tensors
import WeightCompression

/// A target for the size or the accuracy of a package's weights.
struct BudgetRequest {
    static let size = Option(
        "target-size", .text("SIZE"),
        "choose schemes weight by weight so that all stored weights take at most so many bytes, e.g. 12MB",
        affectsOutput: true, excludes: ["target-bits", "min-sqnr"])
    static let bits = Option(
        "target-bits", .text("BITS"), "the same for so many bits a weight, on average over those to choose for",
        affectsOutput: true, excludes: ["min-sqnr"])
    static let sqnr = Option(
        "min-sqnr", .text("DB"), "the smallest weights whose outputs over the samples have at least so many dB",
        affectsOutput: true)
    static let plan = Option(
        "plan", .folder("DIR"),
        "where the choice is written: a recipe that makes the same package without samples, its statistics, and all "
            + "that was measured (default: OUT.plan)")
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

    /// Chooses schemes for the weights that `recipe` stores by a scheme that takes a method; the others stay as it says.
    /// - Returns: the recipe, with the statistics that its codecs were given; and all that was measured.
    func solve(
        _ recipe: Recipe, _ functions: [FrozenProgram], _ calibration: ModelCalibration, folder: String
    ) throws -> (recipe: Recipe, calibration: ModelCalibration) {
        let written = try PlanFolder(folder)
        let planned = recipe.plan(for: functions)
        let chosen = planned.filter { $0.choice.reason == nil && $0.choice.codec.hasMethod }
        guard !chosen.isEmpty else {
            throw RequestError(
                "a target chooses for weights that the recipe stores as int8, int4 or palette, and there is none")
        }
        let others = planned.filter { $0.choice.reason != nil || !$0.choice.codec.hasMethod }
        let stored = try Parallel.map(others.count, threads: calibration.threads) {
            try CompressedTensor.compressing(others[$0].source, with: others[$0].choice.codec, threads: 1).tensor
        }
        let goal: BudgetGoal =
            switch target {
            case .bytes(let bytes): .bytes(max(0, bytes - stored.reduce(0) { $0 + $1.byteCount }))
            case .bits(let bits): .bits(bits)
            case .sqnr(let sqnr): .sqnr(sqnr)
            }
        let solver = BudgetSolver(calibration.samples, weights: chosen, stored: stored, threads: calibration.threads)
        let (plan, front) = try solver.solve(goal)
        let statistics = plan.statistics.filter { plan.codecs[$0.key]?.method == .gptq }
        let file = try written.write(plan, front, statistics: statistics, target: text)
        var solved = Recipe(
            default: recipe.defaultCodec,
            rules: try plan.codecs.sorted { $0.key < $1.key }.map {
                try Recipe.Rule(weight: $0.key, codec: $0.value)
            } + recipe.rules)
        solved.statistics = file
        try written.finish(solved)
        let known = ModelCalibration(statistics: statistics, threads: calibration.threads)
        return (known.resolving(solved), known)
    }
}
