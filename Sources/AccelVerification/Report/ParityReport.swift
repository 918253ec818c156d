public import AccelByteIO
import AccelCPURuntime
public import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// What became of one tensor of the checkpoint, as the package says.
public struct CoverageFinding: Sendable {
    public let name: String
    public let codec: String
    public let byteCount: Int
    /// The operators that read it.
    public let readers: [String]
    /// Why it is not stored as the recipe's codec would; nil when it is.
    public let reason: String?

    init(_ entry: CoverageEntry) {
        name = entry.tensor.name
        codec = entry.tensor.codec.specification
        byteCount = entry.tensor.byteCount
        readers = entry.readers
        reason = entry.reason
    }
}

/// What a verification found. Equal subjects, references and options give equal reports, byte for byte: there are no
/// times, hosts or folders in it.
public struct ParityReport: Sendable {
    /// The package's digest, which binds the report to it; nil for a program in memory.
    public internal(set) var packageDigest: Digest?
    /// Where the inputs come from, e.g. `seed 1 (SplitMix64, counter-based)`.
    public private(set) var inputs: String
    private(set) var seed: UInt64?
    /// Outputs were to be compared with a golden file.
    let isGolden: Bool
    let budget: JSON?
    /// Names of the functions.
    public let functions: [String]
    /// The stages that were asked for.
    public internal(set) var stages: [Stage] = []
    /// Files that S0 read; nil when it did not run.
    public internal(set) var containerFiles: Int?
    /// nil when the stage did not run.
    public internal(set) var structure: StructureFinding?
    public internal(set) var weights: [WeightFinding] = []
    /// All weights together; tables are not among them.
    public internal(set) var weightMetrics = Metrics()
    /// Weights that only one side has, in words; each is a failure.
    public internal(set) var misfits: [String] = []
    public internal(set) var operators: [OperatorFinding] = []
    public internal(set) var outputs: [OutputFinding] = []
    public internal(set) var notCompared: [NotCompared] = []
    public internal(set) var sizes: [SizeFinding] = []
    /// Entries of the budget that nothing was held to.
    public internal(set) var budgetMistakes: [BudgetMistake] = []
    public internal(set) var coverage: [CoverageFinding] = []
    public internal(set) var unused: [UnusedTensor] = []
    /// What a self test found; nil when none ran. One that fails makes the whole report fail.
    public var selfTest: SelfTestReport?
    /// Bytes of all stored weights and tables.
    public let storedBytes: Int
    /// Elements of all of them.
    public let storedElements: Int

    init(of program: CompiledProgram, inputs: InputSource, budget: Budget?) {
        self.init(
            functions: program.functions.map(\.name), storedBytes: program.weights.reduce(0) { $0 + $1.byteCount },
            storedElements: program.weights.reduce(0) { $0 + $1.shape.count }, inputs: inputs, budget: budget)
    }

    init(functions: [String], storedBytes: Int, storedElements: Int, inputs: InputSource, budget: Budget?) {
        self.inputs = inputs.summary
        (seed, isGolden) = (inputs.seed, inputs.golden != nil)
        self.budget = budget?.json
        (self.functions, self.storedBytes, self.storedElements) = (functions, storedBytes, storedElements)
    }

    public var bitsPerWeight: Double {
        storedElements == 0 ? 0 : Double(storedBytes * 8) / Double(storedElements)
    }

    /// An output's name, with its function's where several have one of that name.
    func title(of row: OutputFinding) -> String {
        let isShared = outputs.contains { $0.name == row.name && $0.function != row.function }
        return isShared ? "\(row.function) \(row.name)" : row.name
    }

    /// How many weights are held to a bound on their rows instead of compared byte for byte, a sentence for each reason.
    var rowBounds: [String] {
        RowBound.Reason.allCases.compactMap { reason in
            let count = weights.count { $0.bound?.reason == reason }
            return count == 0 ? nil : RowBound.words(Wording.count(count, "weight"), because: reason)
        }
    }

    /// Notes something that is worth knowing and no failure: what could not be proved, and why.
    mutating func remark(_ text: String) {
        structure = structure ?? StructureFinding()
        structure?.remarks.append(text)
    }

    mutating func add(_ result: OutputStage.Result) {
        outputs += result.outputs
        notCompared += result.notCompared
    }

    mutating func add(_ result: DecodingStage.Result, asked stages: Set<Stage>) {
        operators += result.operators
        outputs += result.outputs.filter { stages.contains($0.stage) }
        notCompared += result.notCompared
    }

    /// Says that functions got inputs that were drawn, because the file has none for them.
    mutating func draw(for functions: [String], seed: UInt64) {
        inputs += "; \(SeededInputs.words(seed)) for \(functions.joined(separator: ", "))"
        self.seed = seed
    }

    /// Lists what a golden file holds and a function does not take or give.
    mutating func addUnread(_ golden: Golden, of function: CompiledFunction) {
        let (taken, given) = (
            Set(function.inputs.map(\.name) + function.states.map(\.name)), Set(function.results.map(\.name))
        )
        for name in golden.inputs.keys.sorted() where !taken.contains(name) {
            notCompared.append(
                .init(
                    stage: .outputs, name: "\(function.name) in.\(name)\(golden.suffix)",
                    reason: "the function has no such input"))
        }
        for name in golden.outputs.keys.sorted() where !given.contains(name) {
            notCompared.append(
                .init(
                    stage: .outputs, name: "\(function.name) out.\(name)\(golden.suffix)",
                    reason: "the function has no such output"))
        }
    }

    /// Finds the entries of a budget that nothing was held to.
    /// - Parameter stages: those that were asked for, run or not.
    mutating func checkUse(of budget: Budget?, asked stages: Set<Stage>) {
        budgetMistakes = budget?.mistakes(in: self, asked: stages) ?? []
    }

    /// Takes out of the failures what a budget allows: differences of structure, and what was not compared.
    mutating func allow(by budget: Budget) {
        func isAllowed(_ difference: StructureFinding.Difference) -> Bool {
            budget.allowedDifferences.contains { $0.names(difference.name) }
        }
        if let differences = structure?.differences {
            structure?.allowed = differences.filter(isAllowed)
            structure?.differences = differences.filter { !isAllowed($0) }
        }
        for index in notCompared.indices where notCompared[index].isRequired {
            guard budget.allowedGaps.contains(where: { $0.names(notCompared[index].name) }) else { continue }
            (notCompared[index].isRequired, notCompared[index].isAllowed) = (false, true)
        }
    }

    mutating func checkSize(budget: Budget?) {
        if let limit = budget?.bytes {
            sizes.append(SizeFinding(what: "stored bytes", value: Double(storedBytes), limit: Double(limit)))
        }
        if let limit = budget?.bitsPerWeight {
            sizes.append(SizeFinding(what: "bits per weight", value: bitsPerWeight, limit: limit))
        }
    }
}

extension ParityReport {
    public enum Verdict: Equatable, Sendable {
        case passed
        /// Something is beyond its limit.
        case failed
        /// A stage that was asked for could compare nothing.
        case nothingCompared
    }

    /// Every failure in words: the budget's own mistakes, figures in the order of the stages, then what was not compared.
    public var failures: [(stage: Stage, name: String, reason: String)] {
        budgetMistakes.map { ($0.stage, $0.place, $0.reason) }
            + (structure?.differences ?? []).map { (.structure, $0.name, $0.reason) }
            + misfits.map { (.weights, "weights", $0) }
            + weights.compactMap { row in row.failure.map { (.weights, row.name, $0) } }
            + sizes.compactMap { row in row.failure.map { (.weights, "size", $0) } }
            + operators.compactMap { row in row.failure.map { (.operators, row.label, $0) } }
            + outputs.compactMap { row in
                row.failure.map { (row.stage, "\(row.function) \(row.name), \(row.reference.rawValue)", $0) }
            } + notCompared.filter(\.isRequired).map { ($0.stage, $0.name, "not compared: \($0.reason)") }
    }

    /// How many comparisons a stage made. What was not compared never counts.
    public func comparisons(in stage: Stage) -> Int {
        switch stage {
        case .container: containerFiles ?? 0
        case .structure: structure?.comparisons ?? 0
        case .weights: weights.count + misfits.count
        case .operators: operators.count
        case .graph, .outputs: outputs.count { $0.stage == stage }
        }
    }

    public func failures(in stage: Stage) -> Int { failures.count { $0.stage == stage } }

    /// A failure outweighs all; then the outputs have to have been compared if that was asked for, else anything at all.
    public var verdict: Verdict {
        if !failures.isEmpty || selfTest?.exitStatus == .exceeded { return .failed }
        let isAnswered = !isGolden || outputs.contains { $0.reference == .golden }
        if stages.contains(.outputs), !isAnswered { return .nothingCompared }
        let needed = stages.contains(.outputs) ? [.outputs] : stages.filter { $0 != .container }
        if needed.isEmpty { return stages.contains(.container) && containerFiles != nil ? .passed : .nothingCompared }
        return needed.contains { comparisons(in: $0) > 0 } ? .passed : .nothingCompared
    }

    public var exitStatus: ExitStatus {
        switch verdict {
        case .passed: .success
        case .failed where isMistaken: .usage
        case .failed: .exceeded
        case .nothingCompared: .unavailable
        }
    }

    /// Nothing is wrong but entries of the budget.
    private var isMistaken: Bool {
        !failures.isEmpty && failures.count == budgetMistakes.count && selfTest?.exitStatus != .exceeded
    }

    /// The verdict in one sentence.
    public var headline: String {
        switch verdict {
        case .passed:
            let compared = stages.filter { comparisons(in: $0) > 0 }.map(\.title)
            return "passed: \(compared.joined(separator: ", ")) within the limits"
        case .failed where failures.isEmpty:
            return "failed: \(selfTest?.headline ?? "")"
        case .failed where isMistaken:
            let count = budgetMistakes.count
            return "failed: \(Wording.count(count, "rule")) of the budget \(count == 1 ? "has" : "have") no effect"
        case .failed:
            let number = failures.count
            return "failed: \(Wording.count(number, "comparison")) beyond \(number == 1 ? "its limit" : "the limits")"
        case .nothingCompared:
            return
                "nothing compared: \(notCompared.first.map { "\($0.name): \($0.reason)" } ?? "no stage had anything to compare")"
        }
    }
}
