import AccelByteIO
package import AccelCPURuntime
import AccelPrograms
package import AccelTensors

/// The runs for the tensors of one file: one run of a function, or one for each of several samples, which are rows of the
/// tensors; a run for each number at the end of the tensors' names (`frame.0`, `frame.1`), with states kept between them;
/// or a decoder on a sequence of tokens, with prefill and decode steps (`DecodingPlan`), followed by the generation of
/// further tokens.
///
///     let program = try package.graph.planned()
///     let plan = try RunPlan(program, FunctionInputs(file.tensors, file: path), generating: 20)
///     let result = try plan.run(in: Session(program))
package struct RunPlan: Sendable {
    /// The runs on tensors of the file, in order.
    package let steps: [RunStep]
    /// The number of tokens to generate after the steps, at most.
    package let generated: Int
    /// The tokens that end a row of generated ones.
    package let stopTokens: Set<Int64>
    /// The number of runs, those of generated tokens included, if no stop token ends them earlier.
    package var runs: Int { steps.count + max(generated - 1, 0) }
    /// The function and inputs that take a generated token; nil if none is generated.
    private let feed: TokenFeed?
    /// Chooses the generated tokens of the first row.
    private let sampler: Sampler
    /// The tokens before the generated ones, integers [batch, count]; nil if no tokens are taken in blocks.
    private let prompt: StoredTensor?
    /// The inputs that take tokens and their position; nil if no tokens are taken in blocks.
    private let ports: (tokens: String, position: String)?
    private let functions: [FunctionPlan]

    /// - Parameters:
    ///   - function: the name of the function to run (for a decoder, of the first block); nil chooses one that the
    ///     tensors fit.
    ///   - generated: the number of tokens that a decoder generates, at most.
    ///   - stopTokens: generation ends when each row has one of them.
    ///   - sampler: chooses the tokens; each further row samples with a seed of its own.
    /// - Throws: `RequestError` if the tensors fit no function and no sequence of runs, with the expected and the found
    ///   ones, or for tokens of another model.
    package init(
        _ program: ModelPlan, _ inputs: FunctionInputs, function: String? = nil, generating generated: Int = 0,
        until stopTokens: Set<Int64> = [], by sampler: Sampler = Sampler(.greedy)
    ) throws {
        let index = try function.map { try FunctionInputs.index(of: $0, in: program.functions) }
        let inputs = inputs.followingLinks(of: program)
        try inputs.requireKnownNumbers(of: index.map { [program.functions[$0]] } ?? program.functions)
        (self.generated, self.stopTokens, self.sampler) = (generated, stopTokens, sampler)
        functions = program.functions
        // A file may hold the inputs of all parts. A decoder's are all read, because an encoder runs before it.
        let named = index.map { program.functions[$0] }.flatMap { $0.input(.position) == nil ? $0 : nil }
        let own = named.map { inputs.leavingOut(program.functions, for: $0) } ?? inputs
        if generated == 0, let steps = try Self.calls(program, own, index) {
            (self.steps, feed, ports, prompt) = (steps, nil, nil, nil)
        } else if let plan = DecodingPlan(program, inputs.tensors), index.map(plan.takesTokens) ?? true {
            (steps, feed) = try plan.longestSteps(first: index, generating: generated, file: inputs.file)
            (ports, prompt) = (plan.ports, plan.tokens)
        } else {
            // They fit nothing, or there is nothing to go on from.
            if generated == 0 || index != nil { _ = try own.choosing(from: program.functions, named: function) }
            throw Self.noTokens(program, inputs)
        }
    }

    private static func noTokens(_ program: ModelPlan, _ inputs: FunctionInputs) -> RequestError {
        let decoders = program.functions.filter { $0.input(.tokens) != nil && $0.input(.position) != nil }
        guard let decoder = decoders.first, let tokens = decoder.input(.tokens) else {
            return RequestError(
                "nothing can be generated with this package: none of its functions (\(program.functions.map(\.name).joined(separator: ", "))) "
                    + "takes tokens and their position in a cache", code: .nothingToGenerate)
        }
        let rows = tokens.shape.dimensions.first ?? 1
        let others = decoder.inputs.filter { $0.name != tokens.name && $0.name != decoder.input(.position)?.name }
        let expected = ["\(tokens.name): I64[\(rows),N]"] + others.map { "\($0.name): \($0.typeText)" }
        let isOfRows = inputs.tensors[tokens.name].map { $0.shape.dimensions.first != rows } ?? false
        return inputs.mismatch(
            "tokens to generate with \(decoder.part)", expected: expected.joined(separator: ", "),
            found: inputs.typeText,
            for: isOfRows ? decoders : [])
    }

    /// Returns one run of the function that the tensors fit, or one for each number at the end of their names, or for each of their rows.
    private static func calls(_ program: ModelPlan, _ inputs: FunctionInputs, _ index: Int?) throws -> [RunStep]? {
        let candidates = index.map { [$0] } ?? Array(program.functions.indices)
        func first(fitting inputs: [FunctionInputs]) -> Int? {
            candidates.first { index in
                inputs.allSatisfy { (try? $0.checked(for: program.functions[index])) != nil }
            }
        }
        if let fitting = first(fitting: [inputs]) { return [try step(fitting, program, inputs)] }
        if let numbered = inputs.numbered, !numbered.isEmpty, let fitting = first(fitting: numbered.map(\.inputs)) {
            return try numbered.map { number, inputs in
                var step = try step(fitting, program, inputs)
                step.suffix = ".\(number)"
                return step
            }
        }
        for index in candidates {
            guard let rows = inputs.rows(for: program.functions[index]), (try? step(index, program, rows[0])) != nil
            else { continue }
            return try rows.map { inputs in
                var step = try step(index, program, inputs)
                step.isOfRows = true
                return step
            }
        }
        return nil
    }

    private static func step(_ index: Int, _ program: ModelPlan, _ inputs: FunctionInputs) throws -> RunStep {
        let (given, states) = try inputs.checked(for: program.functions[index])
        var step = RunStep(function: index, inputs: given)
        step.states = states
        return step
    }

    /// The result of running a plan.
    package struct Result: Sendable {
        /// The outputs. An output with a row for each token holds the rows of all blocks; the outputs of numbered steps
        /// end in their number. Outputs of one name of several parts of the model begin with the name of the part, as in
        /// `encoder.last_hidden_state`.
        package var outputs: [StoredTensor] = []
        /// The generated tokens, I64[batch, generated]; nil if there are none. After its stop token a row repeats it.
        package var generated: StoredTensor?
        /// For each row of generated tokens, their number with the first stop token; nil for a row without one.
        package var stops: [Int?] = []
        /// Every row of generated tokens has a stop token.
        package var isStopped: Bool { !stops.isEmpty && stops.allSatisfy { $0 != nil } }
        /// The tensors that a later run needs beside the states: the position of the next token, I64[1], and the last generated token,
        /// I64[batch,1], which no function has taken. Empty if no tokens were taken in blocks.
        package var next: [StoredTensor] = []
        /// A run of a function.
        package struct Run: Sendable {
            /// The index of the function.
            package let function: Int
            /// The positions of the tokens that it took; nil if it took none.
            package let positions: Range<Int>?
            /// It took a generated token.
            package let isGenerated: Bool
            /// The time that it took.
            package let duration: Duration
        }

        /// The functions that ran, in order.
        package var runs: [Run] = []
        /// Creates an empty result.
        package init() {}

        /// The rows of a decoder's tokens in each run.
        package var rows = 1
        /// The runs over the tokens of the file: their tokens, of all rows, and the time that they took.
        package var prompt: (tokens: Int, duration: Duration) { total(runs.filter { !$0.isGenerated }) }
        /// The runs over generated tokens: their tokens, of all rows, and the time that they took. The last generated token does not run.
        package var generation: (tokens: Int, duration: Duration) { total(runs.filter(\.isGenerated)) }

        private func total(_ runs: [Run]) -> (tokens: Int, duration: Duration) {
            let blocks = runs.filter { $0.positions != nil }
            return (
                rows * blocks.reduce(0) { $0 + ($1.positions?.count ?? 0) }, blocks.reduce(.zero) { $0 + $1.duration }
            )
        }
    }

    /// Runs all steps, starting with the session's current states.
    /// - Parameters:
    ///   - keepsOutputs: false returns generated tokens only.
    ///   - progress: called after each run with its number.
    /// - Throws: the errors of `Executor.run`.
    package func run(
        in session: Session, keepsOutputs: Bool = true, progress: (Int) -> Void = { _ in }
    ) throws -> Result {
        let outputs = RunOutputs(keepsOutputs ? .memory : .shapes)
        var result = try run(into: outputs, progress: progress) {
            try session.run($0, carrying: $1, requesting: $2)
        }
        if keepsOutputs { result.outputs = try outputs.tensors() }
        return result
    }

    /// Runs all steps wherever `make` does.
    /// - Parameters:
    ///   - outputs: gets the outputs, as those of a further sample.
    ///   - make: makes a step, with what those before it made by name; returns the requested outputs.
    package func run(
        into outputs: RunOutputs, progress: (Int) -> Void = { _ in },
        by make: (_ step: RunStep, _ made: [String: StoredTensor], _ requested: RequestedOutputs) throws ->
            [StoredTensor]
    ) throws -> Result {
        var result = Result()
        outputs.beginSample()
        var made: [String: StoredTensor] = [:]
        let carried = Set(steps.flatMap(\.carried.values))
        let clock = ContinuousClock()
        /// Runs a step; `index` is the position in its block of the token that the next one is generated after.
        func run(_ step: RunStep, isGenerated: Bool = false, generatingAfter index: Int? = nil) throws {
            if step.positions != nil, let tokens = ports.flatMap({ step.inputs[$0.tokens] }) {
                result.rows = tokens.shape.dimensions.first ?? 1
            }
            let all = Set(functions[step.function].outputs.map(\.name))
            let logits = index == nil ? nil : feed?.taker.logits?.name
            let isRead = carried.union(logits.map { [$0] } ?? [])
            let requested = RequestedOutputs(
                outputs.areKept ? all : all.intersection(carried),
                position: index.flatMap { index in logits.map { ($0, index) } },
                transient: outputs.transient(of: step, functions[step.function]).subtracting(isRead))
            let start = clock.now
            let results = try make(step, made, requested)
            for tensor in step.inputs.values { tensor.bytes.releasePages() }
            result.runs.append(
                Result.Run(
                    function: step.function, positions: step.positions, isGenerated: isGenerated,
                    duration: clock.now - start))
            for output in results where carried.contains(output.name) || output.name == logits {
                made[output.name] = output
            }
            try outputs.add(results, of: step, functions[step.function])
            progress(result.runs.count)
        }
        let last = steps.last?.rows.map { $0.upperBound - 1 }
        for (number, step) in steps.enumerated() {
            try run(step, generatingAfter: generated > 0 && number == steps.count - 1 ? last ?? .max : nil)
        }
        var chosen: [[Int64]] = []
        var choice = Choice(sampler, after: prompt)
        var index = last
        while let feed, let end = result.runs.last?.positions?.upperBound, chosen.count < generated, !result.isStopped {
            var next = try choice.tokens(feed.taker.logits.flatMap { made[$0.name] }, row: index)
            if let last = chosen.last { next = zip(last, next).map { stopTokens.contains($0) ? $0 : $1 } }
            chosen.append(next)
            if result.stops.isEmpty { result.stops = next.map { _ in nil } }
            for (row, token) in next.enumerated() where result.stops[row] == nil && stopTokens.contains(token) {
                result.stops[row] = chosen.count
            }
            guard chosen.count < generated, !result.isStopped else { break }
            try run(feed.step(next, at: end), isGenerated: true, generatingAfter: .max)
            index = nil
        }
        if let ports, let end = result.runs.last?.positions?.upperBound {
            result.next = [StoredTensor(name: ports.position, integers: [Int64(end)], shape: [1])]
            if let last = chosen.last {
                result.next.append(StoredTensor(name: ports.tokens, integers: last, shape: [last.count, 1]))
            }
        }
        if let rows = chosen.first?.count {
            result.generated = StoredTensor(
                name: "generated", integers: (0..<rows).flatMap { row in chosen.map { $0[row] } },
                shape: [rows, chosen.count])
        }
        return result
    }
}

/// The choice of the next token of each row.
private struct Choice {
    private let first: Sampler
    private var samplers: [Sampler] = []
    /// The tokens of each row so far; empty where none is asked for.
    private var rows: [[Int64]] = []

    /// - Parameter prompt: integers [batch, count].
    init(_ sampler: Sampler, after prompt: StoredTensor?) {
        first = sampler
        guard sampler.readsTokens, let prompt else { return }
        let (all, width) = (prompt.integers(), prompt.shape.dimensions[1])
        rows = (0..<prompt.shape.dimensions[0]).map { Array(all[$0 * width..<($0 + 1) * width]) }
    }

    /// Returns the next token of each row.
    /// - Parameter index: the row of a block's token; nil for the last. Logits of the last position only have one row.
    mutating func tokens(_ logits: StoredTensor?, row index: Int?) throws -> [Int64] {
        guard let logits, logits.shape.rank == 3, logits.shape.count > 0 else {
            throw RequestError(
                "to generate tokens, the decoder needs an output of logits F32[batch, tokens, vocabulary]")
        }
        let floats = logits.floats()
        let (batch, count, width) = (
            logits.shape.dimensions[0], logits.shape.dimensions[1], logits.shape.dimensions[2]
        )
        if samplers.isEmpty { samplers = (0..<batch).map { first.ofRow($0) } }
        return try (0..<batch).map { row in
            let start = (row * count + min(index ?? count - 1, count - 1)) * width
            let token = try samplers[row].choose(
                from: floats.span.extracting(start..<start + width), after: rows.isEmpty ? [] : rows[row])
            if !rows.isEmpty { rows[row].append(token) }
            return token
        }
    }
}
