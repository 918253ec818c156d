import Accel
import AccelPrograms
import AccelTensors

/// A call of a function in a sequence of calls that share states, under the model's names.
struct FeedCall {
    /// Inputs by name, without the carried ones.
    var inputs: [String: HostTensor]
    /// Inputs that are outputs of earlier calls: the output's name by the input's.
    var carried: [String: String] = [:]
    /// Values that states have before the call, by name; others stay as they are, and start as the function's initial values.
    var states: [String: HostTensor] = [:]
    /// Returns the name of an output in reports.
    var outputName: @Sendable (String) -> String = { $0 }
    /// Returns the name of a state in reports; nil if states are not compared.
    var stateName: (@Sendable (String) -> String)?
    /// The positions of outputs that count.
    var positions = CountedPositions.all
    /// Returns the positions of a state that count.
    var statePositions: (String) -> CountedPositions = { _ in .all }
    /// A budget has the names of outputs and states for the limits; else those in reports.
    var isLimitedByName = false
    /// Returns the golden's value of an output or state.
    var expected: (_ name: String, _ title: String, Role?) -> HostTensor? = { _, _, _ in nil }

    init(inputs: [String: HostTensor]) { self.inputs = inputs }

    /// - Parameter suffix: of the sample; nil for none.
    init(_ feed: FunctionFeed, _ suffix: String? = nil) {
        (inputs, states) = (feed.inputs, feed.states)
        (outputName, stateName) = ({ $0 + (suffix ?? "") }, { $0 + (suffix ?? "") })
    }

    init(_ block: GoldenDecoding.Block) {
        inputs = block.step.inputs.mapValues { HostTensor($0) }
        carried = block.step.carried
        states = block.step.states.reduce(into: [:]) { $0[$1.name] = HostTensor.content($1) }
        outputName = block.name
        if let prefix = block.states { stateName = { prefix + $0 } }
    }

    /// All inputs.
    /// - Parameter made: the outputs of earlier calls, by name.
    func inputs(carrying made: [String: HostTensor]) -> [String: HostTensor] {
        inputs.merging(carried.compactMapValues { made[$0] }) { own, _ in own }
    }
}

/// A function of the model with constants.
struct ModelSide {
    let program: FrozenProgram
    let constant: (Program.Constant) throws -> ReferenceOperand

    init(_ program: FrozenProgram, _ constant: @escaping (Program.Constant) throws -> ReferenceOperand) {
        (self.program, self.constant) = (program, constant)
    }

    /// - Parameter stored: the weights that differ from the model's, by name.
    init(_ program: FrozenProgram, stored: [String: StoredTensor] = [:]) {
        self.init(program) { .tensor(try HostTensor(stored[$0.name] ?? $0.requireTensor())) }
    }
}

/// The calls of a sequence, run by the operators' reference implementations.
final class ReferenceSequence {
    private var states: [String: HostTensor] = [:]
    /// The outputs of all calls so far, by name.
    private var made: [String: HostTensor] = [:]
    private let noise: RoundingNoise?

    init(_ noise: RoundingNoise? = nil) { self.noise = noise }

    /// Runs a call, from the states that the one before has left.
    func run(_ call: FeedCall, _ side: ModelSide) throws -> CallResults {
        states.merge(call.states) { $1 }
        let outputs = try side.program.evaluate(
            call.inputs(carrying: made), states: &states, operand: side.constant,
            evaluate: RoundingNoise.evaluation(noise))
        let named = Dictionary(outputs.map { ($0.name, $0.tensor) }) { first, _ in first }
        made.merge(named) { $1 }
        return (named, states)
    }

    /// Takes over the results of another side, which are this one's too.
    func adopt(_ results: CallResults) {
        made.merge(results.outputs) { $1 }
        states = results.states
    }
}

/// The sides of a function in a comparison, beside the subject.
struct ComparedFunction {
    /// The name in reports.
    let name: String
    /// The names of the compared outputs, and of the compared states.
    let outputs: [String]
    let states: [String]
    /// The states that the model only reads.
    var readStates: Set<String> = []
    /// Returns the role of an output.
    let role: (String) -> Role?
    /// The model with its own weights; nil if nothing is compared with it.
    var original: ModelSide?
    /// The model with the stored weights; nil if nothing is compared with it.
    var stored: ModelSide?
    /// The results with the stored weights are those of the original.
    var isLossless = false
    /// The model with the stored weights and all roundings of the subject; nil if it rounds nothing.
    var rounded: ModelSide?
    /// The limit against the model with the stored weights.
    let graphLimit: Tolerance
    /// Returns the limit against expected values.
    let limit:
        (_ rounded: HostTensor?, _ expected: HostTensor, _ strict: Tolerance, _ positions: CountedPositions) ->
            Tolerance
}

/// S3 and S4 of calls that share states: a subject beside the model with the stored and with its own weights. What functions make for
/// others is carried on each side. All sides run a call before the next one, so that memory holds the values of one.
struct SequenceComparison {
    /// Results of the model that another comparison of the same calls reads again.
    final class Kept {
        fileprivate var results: [String: CallResults] = [:]
    }
    let options: Parity.Options
    /// The name of the subject in sentences.
    var title = "the package"
    /// Returns the limit of a golden's output that loses nothing; the model is compared with the golden, too. nil for other goldens.
    var goldenLimit: ((String) -> Tolerance)?
    /// Returns the gap of a value that neither a golden nor a model has; nil if it is none.
    var unexpected: ((String) -> String)?
    /// nil keeps none.
    var kept: Kept?

    /// Runs all calls, and compares their outputs and states.
    func compare(_ subject: any Executable) throws -> OutputFindings {
        var result = OutputFindings()
        /// The keys of the rows' values.
        var keys: [String] = []
        let (originals, storeds, roundeds) = (ReferenceSequence(), ReferenceSequence(), ReferenceSequence())
        for number in subject.calls {
            let (call, function) = try subject.call(number)
            let found = try subject.run(number)
            let original = try function.original.map { side in
                try keeping("\(number) original") { try originals.run(call, side) }
            }
            var stored = original
            if function.isLossless {
                original.map(storeds.adopt)
            } else {
                stored = try function.stored.map { side in
                    try keeping("\(number) stored") { try storeds.run(call, side) }
                }
            }
            let rounded = try function.rounded.map { try roundeds.run(call, $0) } ?? stored
            let graph = found.graph ?? found.results
            for name in function.outputs {
                let title = call.outputName(name)
                let role = function.role(name)
                let value = ComparedValue(
                    function: function.name, title: title, role: role, positions: call.positions,
                    found: found.results.outputs[name], graph: graph.outputs[name], original: original?.outputs[name],
                    stored: stored?.outputs[name], golden: call.expected(name, title, role))
                compare(value, name, rounded?.outputs[name], call, function, found, &result)
                while keys.count < result.outputs.count { keys.append("\(number) \(name)") }
            }
            for name in call.stateName == nil ? [] : function.states {
                let title = call.stateName?(name) ?? name
                let value = ComparedValue(
                    function: function.name, title: title, positions: call.statePositions(name),
                    isRead: function.readStates.contains(name),
                    found: found.results.states[name], graph: graph.states[name], original: original?.states[name],
                    stored: stored?.states[name]?.wideningRows(), golden: call.expected(name, title, nil))
                compare(value, name, rounded?.states[name]?.wideningRows(), call, function, found, &result)
                while keys.count < result.outputs.count { keys.append("\(number) \(name)") }
            }
            for title in found.surplus {
                result.skip(
                    options.stages.contains(.graph) ? .graph : .outputs, "\(function.name) \(title)",
                    "the model has no such output", isRequired: true)
            }
        }
        if result.outputs.contains(where: \.isBeyondArithmetic) {
            let measured = try noise(of: subject)
            result.allow { measured[keys[$0]] }
        }
        return result
    }

    private func keeping(_ key: String, _ make: () throws -> CallResults) rethrows -> CallResults {
        if let results = kept?.results[key] { return results }
        let results = try make()
        kept?.results[key] = results
        return results
    }

    private func compare(
        _ value: ComparedValue, _ name: String, _ rounded: HostTensor?, _ call: FeedCall, _ function: ComparedFunction,
        _ found: ExecutedCall, _ result: inout OutputFindings
    ) {
        if value.found == nil, let gap = found.missing?(name) {
            let item = "\(function.name) \(value.title)"
            return result.skip(.outputs, item, gap.reason, isRequired: gap.isRequired)
        }
        let limits = ComparedValue.Limits(
            subject: title, graph: function.graphLimit, golden: goldenLimit?(value.title) ?? .unstatedNoise,
            outputs: { expected, strict in
                options.budget?.tolerance(forOutput: call.isLimitedByName ? name : value.title)
                    ?? function.limit(rounded, expected, strict, value.positions)
            }, checksModel: goldenLimit != nil, unexpected: unexpected.map { ($0(value.title), false) })
        value.compare(in: options.stages, limits, &result)
    }

    /// Measures the noise of an arithmetic in the results of calls, by the rows' keys.
    private func noise(of subject: any Executable) throws -> [String: Metrics] {
        var measured: [String: Metrics] = [:]
        for noise in subject.noises(seed: options.inputs.samplingSeed) {
            let (plain, moved) = (ReferenceSequence(), ReferenceSequence(noise))
            for number in subject.calls {
                let (call, function) = try subject.call(number)
                guard let side = function.stored else { continue }
                let (exact, noisy) = (try plain.run(call, side), try moved.run(call, side))
                for (name, tensor) in exact.outputs {
                    guard let other = noisy.outputs[name] else { continue }
                    measured.measure("\(number) \(name)", call.positions.metrics(of: other, against: tensor))
                }
                for name in call.stateName == nil ? [] : function.states {
                    guard let tensor = exact.states[name]?.wideningRows(),
                        let other = noisy.states[name]?.wideningRows()
                    else { continue }
                    measured.measure("\(number) \(name)", call.statePositions(name).metrics(of: other, against: tensor))
                }
            }
        }
        return measured
    }
}
