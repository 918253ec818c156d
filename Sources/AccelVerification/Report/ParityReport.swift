public import AccelByteIO
import AccelCPURuntime
public import AccelCalibration
import AccelPackages
import AccelPrograms
public import AccelTensors
import AccelWeightCompression

/// The storage of one tensor of the checkpoint, as the package records it.
public struct CoverageFinding: Sendable {
    /// The tensor's name.
    public let name: String
    /// The codec with its options, e.g. `palette:bits=4,group=16`.
    public let codec: String
    /// The stored bytes.
    public let byteCount: Int
    /// The operators that read it.
    public let readers: [String]
    /// The reason for not using the recipe's codec; nil if it is used.
    public let reason: String?

    init(_ entry: CoverageEntry) {
        name = entry.tensor.name
        codec = entry.tensor.codec.specification
        byteCount = entry.tensor.byteCount
        readers = entry.readers
        reason = entry.reason
    }
}

/// The result of a verification. Equal subjects, references and options give equal reports, byte for byte: a report has
/// no times, hosts or folders.
public struct ParityReport: Sendable {
    /// The digest of the package that the report is about; nil for a program in memory.
    public internal(set) var packageDigest: Digest?
    /// The source of the inputs, e.g. `seed 1 (SplitMix64, counter-based)`.
    public internal(set) var inputs: String
    private(set) var seed: UInt64?
    /// Outputs were to be compared with a golden file.
    let isGolden: Bool
    let budget: JSON?
    /// The runtime of another project that computed the outputs; nil if none did.
    public internal(set) var runtime: RuntimeFinding?
    /// Names of the functions.
    public let functions: [String]
    /// The names of the outputs that are no states; empty if the subject is no package.
    var outputNames: Set<String> = []
    /// The requested stages.
    public internal(set) var stages: [Stage] = []
    /// The number of files that S0 read; nil if it did not run.
    public internal(set) var containerFiles: Int?
    /// The result of the structure stage; nil if it did not run.
    public internal(set) var structure: StructureFinding?
    /// The metrics of each weight, in package order; empty if the stage did not run.
    public internal(set) var weights: [WeightFinding] = []
    /// The metrics of all weights together, without tables.
    public internal(set) var weightMetrics = Metrics()
    /// Weights that only one side has, as sentences; each is a failure.
    public internal(set) var misfits: [String] = []
    /// The metrics of each kernel call, in execution order; empty if the stage did not run.
    public internal(set) var operators: [OperatorFinding] = []
    /// The metrics of outputs and states: those of the graph stage and of the output stage.
    public internal(set) var outputs: [OutputFinding] = []
    /// The loss that each lossy weight alone causes in the outputs, the largest first; empty if the output stage did not run on a model.
    public internal(set) var losses: [WeightLoss] = []
    /// The runs that the losses were measured on, and those that the outputs were; nil if the losses are not the outputs'.
    var rankingRuns: (measured: Int, count: Int)?
    /// The function that ran on random inputs for the ranking, because those of the file do not fit it; nil if they do.
    var rankingDrawn: String?
    /// The tokens of each text that the ranking was measured on; nil for whole texts.
    var rankingTokens: Int?
    /// A ranking of the weights needs the operator stage, because the model is too large for a run with each.
    var rankingLacksOperators = false
    /// Items that no stage could compare.
    public internal(set) var notCompared: [NotCompared] = []
    /// Why the subject seems to be made from another model than the reference; nil if nothing says so.
    public internal(set) var foreignModel: String?
    /// The sizes, speeds and figures of the whole package that the budget or the profile limits.
    public internal(set) var limits: [LimitFinding] = []
    /// Entries of the budget that apply to nothing.
    public internal(set) var budgetMistakes: [BudgetMistake] = []
    /// The lists of the budget whose limits were not checked, because their stages were left out.
    var uncheckedLimits: [String] = []
    /// The scheme of each weight, as the package records it.
    public internal(set) var coverage: [CoverageFinding] = []
    /// Tensors of the checkpoint that no function reads, as the package records them.
    public internal(set) var unused: [UnusedTensor] = []
    /// The quality of the package on a text; nil if it was not evaluated on one.
    public internal(set) var quality: QualityFinding?
    /// The result of a self test; nil if none ran. A failed self test makes the whole report fail.
    public var selfTest: SelfTestReport?
    /// The seed of the rows of large weights that operators were compared on.
    let samplingSeed: UInt64
    /// The weights are not ranked by the loss that they cause in the outputs, as a package's are.
    var isUnranked = false
    /// The SQNR in dB that recorded runs ask of outputs; nil unless this is a comparison with them.
    var recordedLimit: Double?
    /// The element type to which the package rounds key/value caches, where their content was random; nil if there is none.
    private(set) var drawnStates: StateStorage?
    /// The bytes of all stored weights.
    public let storedBytes: Int
    /// The elements of all stored weights.
    public let storedElements: Int

    init(of program: ModelPlan, inputs: InputSource, budget: Budget?, storedBits: [String: Int] = [:]) {
        // As in conversions: tables of the graph are no weights.
        let names = ModelGraph(of: program).weightNames
        let weights = program.weights.filter { names.contains($0.name) }
        self.init(
            functions: program.functions.map(\.name),
            storedBytes: weights.reduce(0) { sum, weight in
                sum + (storedBits[weight.name].map { ($0 + 7) / 8 } ?? weight.byteCount)
            },
            storedElements: weights.reduce(0) { $0 + $1.shape.count }, inputs: inputs, budget: budget)
        outputNames = Set(program.functions.flatMap { $0.outputs.map(\.name) })
        let storage = program.functions.map(\.stateStorage)
        if inputs.seed != nil { drawnStates = StateStorage.allCases.last { $0 != .float32 && storage.contains($0) } }
    }

    init(functions: [String], storedBytes: Int, storedElements: Int, inputs: InputSource, budget: Budget?) {
        self.inputs = inputs.summary
        (seed, isGolden) = (inputs.seed, inputs.golden != nil)
        samplingSeed = inputs.samplingSeed
        self.budget = budget?.json
        (self.functions, self.storedBytes, self.storedElements) = (functions, storedBytes, storedElements)
    }

    /// Stored bits for each element over all weights; 0 without weights.
    public var bitsPerWeight: Double {
        storedElements == 0 ? 0 : Double(storedBytes * 8) / Double(storedElements)
    }

    /// The outputs of each function together; only functions whose outputs were compared with the model's or a golden's.
    public var together: [TogetherFinding] {
        let rows = outputs.filter { row in
            row.stage == .outputs && [.originalWeights, .golden].contains(row.reference)
                && outputNames.contains(row.name)
        }
        // A function that enumerates shapes has rows for each of these, under names of their own.
        return rows.map(\.function).distinct.compactMap { function in
            let own = rows.filter { $0.function == function }.map { ($0.name, $0.metrics.relativeL2) }
            let errors = Dictionary(own, uniquingKeysWith: max).values.map { $0 * $0 }
            guard !errors.isEmpty else { return nil }
            let error = errors.reduce(0, +) / Double(errors.count)
            return TogetherFinding(
                function: function, outputs: errors.count,
                sqnr: error.isFinite ? WeightLoss.decibels(error) : -.infinity)
        }
    }

    /// Returns an output's name, with its function's name if several functions have an output of that name.
    func title(of row: OutputFinding) -> String {
        let isShared = outputs.contains { $0.name == row.name && $0.function != row.function }
        return isShared ? "\(row.function) \(row.name)" : row.name
    }

    /// Returns a call's label, with its function's name if calls of several functions were compared.
    func title(of row: OperatorFinding) -> String {
        let isAlone = operators.allSatisfy { $0.function == row.function }
        return isAlone ? row.label : "\(row.function) \(row.label)"
    }

    /// Sentences that count the weights whose rows are held to error bounds instead of compared byte for byte, one for
    /// each reason.
    var rowBounds: [String] {
        RowBound.Reason.allCases.compactMap { reason in
            let count = weights.count { $0.bound?.reason == reason }
            return count == 0 ? nil : RowBound.words(Wording.count(count, "weight"), because: reason)
        }
    }

    /// Lists an item that could not be compared.
    mutating func skip(_ stage: Stage, _ name: String, _ reason: String, isRequired: Bool = false) {
        notCompared.append(.init(stage: stage, name: name, reason: reason, isRequired: isRequired))
    }

    /// Adds a remark that is no failure, such as a property that could not be proved, and why.
    mutating func remark(_ text: String) {
        structure = structure ?? StructureFinding()
        structure?.remarks.append(text)
    }

    /// Adds the findings of a run. Those of another run on the same output, with another sample, are joined with them.
    mutating func add(_ result: OutputFindings) {
        for row in result.outputs {
            let index = outputs.firstIndex { $0.isSame(as: row) }
            if let index { outputs[index] = outputs[index].joining(row) } else { outputs.append(row) }
        }
        notCompared += result.notCompared
    }

    mutating func add(_ result: DecodingStage.Result, asked stages: Set<Stage>) {
        operators += result.operators
        outputs += result.outputs.filter { stages.contains($0.stage) }
        notCompared += result.notCompared
    }

    /// Records that functions got random inputs, because the file has none for them.
    /// - Parameters:
    ///   - functions: the functions that ran on random inputs.
    ///   - calls: the functions with calls that were compared one by one on random inputs; otherwise these functions ran on the file's
    ///     inputs.
    mutating func draw(for functions: [String], calls: [String] = [], seed: UInt64) {
        let parts = [
            functions.isEmpty
                ? nil : "\(functions.joined(separator: ", ")), of whose shapes the file has no inputs, or no states",
            calls.isEmpty ? nil : "the calls (S2) of \(calls.joined(separator: ", "))",
        ].compactMap(\.self)
        guard !parts.isEmpty else { return }
        inputs += "; \(SeededInputs.words(seed)) for \(parts.joined(separator: ", and for "))"
        self.seed = seed
    }

    /// Records that functions ran on the results of the original encoder, and not on those of the package's encoder.
    mutating func feedByOriginal(_ functions: [String]) {
        inputs +=
            "; \(functions.joined(separator: ", ")) on what the original encoder makes of it, so that the loss of the package's encoder "
            + "is not in these figures"
    }

    /// Lists the tensors of a golden file that are no inputs, states or outputs of a function, nor of others.
    mutating func addUnread(_ golden: Golden, of function: FunctionPlan, among all: [FunctionPlan]) {
        let (taken, given) = (
            Set(all.flatMap { $0.inputs.map(\.name) + $0.states.map(\.name) }),
            Set(all.flatMap { $0.results.map(\.name) })
        )
        for name in golden.inputs.keys.sorted() where !taken.contains(name) {
            skip(.outputs, "\(function.name) in.\(name)\(golden.suffix)", "the function has no such input")
        }
        for name in golden.outputs.keys.sorted() where !given.contains(name) {
            skip(.outputs, "\(function.name) out.\(name)\(golden.suffix)", "the function has no such output")
        }
    }
}

extension ParityReport {
    /// The result of the whole verification.
    public enum Verdict: String, Sendable {
        /// All comparisons are within their limits.
        case passed
        /// At least one comparison exceeds its limit.
        case failed
        /// The requested stages had nothing to compare.
        case nothingCompared = "nothing compared"
    }

    /// All failures: mistakes of the budget, then exceeded limits in the order of the stages, then items that were not
    /// compared.
    public var failures: [(stage: Stage, name: String, reason: String)] {
        budgetMistakes.map { ($0.stage, $0.location, $0.reason) }
            + (structure?.differences ?? []).map { (.structure, $0.name, $0.reason) }
            + misfits.map { (.weights, "weights", $0) }
            + weights.compactMap { row in row.failure.map { (.weights, row.name, $0) } }
            + limits.compactMap { row in row.failure.map { (.weights, row.what, $0) } }
            + operators.compactMap { row in row.failure.map { (.operators, title(of: row), $0) } }
            + outputs.compactMap { row in
                row.failure.map { (row.stage, "\(row.function) \(row.name), \(row.reference.rawValue)", $0) }
            } + notCompared.filter(\.isRequired).map { ($0.stage, $0.name, "not compared: \($0.reason)") }
    }

    /// Returns the number of comparisons that a stage made, without the items that it could not compare.
    public func comparisons(in stage: Stage) -> Int {
        switch stage {
        case .container: containerFiles ?? 0
        case .structure: structure?.comparisons ?? 0
        case .weights: weights.count + misfits.count
        case .operators: operators.count
        case .graph, .outputs: outputs.count { $0.stage == stage }
        }
    }

    /// Whether a failure of this name is that of a limit of size, memory or speed.
    func isLimit(_ name: String) -> Bool { limits.contains { $0.what == name && $0.failure != nil } }

    /// Returns the number of failures of a stage. Limits of size, memory and speed, which `failures` list beside those of weights, are
    /// no stage's.
    public func failures(in stage: Stage) -> Int {
        failures.count { $0.stage == stage } - (stage == .weights ? limits.count { $0.failure != nil } : 0)
    }

    /// `failed` if there is any failure. Otherwise `passed` if the outputs were compared, or, if the output stage was
    /// not requested, if anything was.
    public var verdict: Verdict {
        if !failures.isEmpty || selfTest?.exitStatus == .exceeded { return .failed }
        let isAnswered = !isGolden || outputs.contains { $0.reference == .golden }
        if stages.contains(.outputs), !isAnswered { return .nothingCompared }
        let needed = stages.contains(.outputs) ? [.outputs] : stages.filter { $0 != .container }
        if needed.isEmpty { return stages.contains(.container) && containerFiles != nil ? .passed : .nothingCompared }
        return needed.contains { comparisons(in: $0) > 0 } ? .passed : .nothingCompared
    }

    /// `success` if passed; `exceeded` if failed, or `usage` if only rules of the budget are mistaken; `unavailable` if
    /// nothing was compared.
    public var exitStatus: ExitStatus {
        switch verdict {
        case .passed: .success
        case .failed where isMistaken: .usage
        case .failed: .exceeded
        case .nothingCompared: .unavailable
        }
    }

    /// The only failures are mistakes of the budget.
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
        case .failed:
            let (idle, missing) = (budgetMistakes.count, notCompared.count { $0.isRequired })
            let beyond = failures.count - idle - missing
            let parts = [
                beyond == 0
                    ? nil : "\(Wording.count(beyond, "comparison")) beyond \(beyond == 1 ? "its limit" : "the limits")",
                missing == 0 ? nil : "\(Wording.count(missing, "comparison")) not made",
                idle == 0
                    ? nil : "\(Wording.count(idle, "rule")) of the budget \(idle == 1 ? "has" : "have") no effect",
            ]
            return "failed: \(parts.compactMap(\.self).joined(separator: ", "))"
        case .nothingCompared:
            // The outputs' reason says what else to give; the other stages have no model.
            let first = notCompared.first { $0.stage == .outputs } ?? notCompared.first
            let reason = first.map { "\($0.name): \($0.reason)" } ?? structure?.remarks.first
            return "nothing compared: \(reason ?? "no stage had anything to compare")"
        }
    }
}
