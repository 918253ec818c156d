import Accel
import AccelCPURuntime
import AccelPrograms
import AccelTensors

/// Inputs of functions that no file gives: random values by their roles, and, where a function reads results or states of other runs,
/// the results and states of such runs of the package, or of the model. Key/value caches come from a prefill with random tokens before
/// the function's own, an encoder's keys and values from random features, and other states from earlier runs. Caches of random numbers
/// would be unlike any model's: attention over them is as good as one-hot, and amplifies rounding errors.
final class DrawnInputs {
    private let program: ModelPlan
    /// The model's function of each of the program's; nil where it has none.
    private let models: [FrozenProgram?]
    private let drawn: SeededInputs
    /// The generator of the tokens before a block, so that they are other ones than the block's.
    private let earlier: SeededInputs
    /// Runs a function, and hands over its outputs and the states that it leaves, by name, each once it is made.
    typealias Run = (
        _ function: Int, FunctionFeed, _ give: (_ name: String, HostTensor) throws -> Void
    ) throws -> Void
    private let run: Run
    /// The results of the encoders that have run, and of their cross-attention functions, by the index of the encoder's function.
    private var encodings: [Int: [String: HostTensor]] = [:]
    /// The caches that a prefill by a function leaves, by the function's index; functions that share caches start with the same.
    private var prefills: [Int: KeptStates] = [:]
    /// The runs of a function before the one that starts with its states.
    private static let earlierRuns = 2
    /// The most tokens before a block where functions take one at a time.
    private static let mostSteps = 16

    /// - Parameter run: runs one of the program's functions.
    init(_ program: ModelPlan, _ models: [FrozenProgram?], seed: UInt64, run: @escaping Run) {
        (self.program, self.models, self.run) = (program, models, run)
        (drawn, earlier) = (SeededInputs(seed: seed), SeededInputs(seed: seed &+ 1 << 32))
    }

    /// Creates random inputs for a package's functions, which the runner runs.
    convenience init(_ program: ModelPlan, _ models: [FrozenProgram?], seed: UInt64, _ runner: PackageRunner) {
        self.init(program, models, seed: seed) { try runner.run($0, $1, give: $2) }
    }

    /// Creates random inputs for functions of a model, which run by the operators' reference implementations.
    convenience init(_ models: [FrozenProgram], seed: UInt64) {
        self.init(ModelPlan(outlining: models), models, seed: seed) { function, feed, give in
            var states = feed.states
            for name in feed.kept?.names ?? [] where states[name] == nil { states[name] = try feed.state(name) }
            let outputs = try models[function].evaluate(feed.inputs, states: &states)
            for (name, tensor) in states.merging(outputs.map { ($0.name, $0.tensor) }, uniquingKeysWith: { $1 }) {
                try give(name, tensor.wideningRows())
            }
        }
    }

    /// Returns the inputs and states of a function's run; nil if the model has no such function.
    func feed(for index: Int) throws -> FunctionFeed? {
        guard let model = models[index] else { return nil }
        let function = program.functions[index]
        var feed = FunctionFeed(inputs: drawn.inputs(for: model))
        let made = try encoded(for: function)
        for link in function.interface.links {
            guard let port = function.inputs.first(where: { $0.name == link.input }),
                let tensor = made[link.output], tensor.shape == port.shape
            else { continue }
            feed.inputs[link.input] = tensor
        }
        for state in function.states(.crossAttention) where made[state.name]?.shape == widened(state) {
            feed.states[state.name] = made[state.name]
        }
        if let port = function.input(.position), function.input(.tokens) != nil {
            let (count, caches) = try caches(before: function, feed.states)
            feed.inputs[port.name] = HostTensor([Int64](repeating: Int64(count), count: port.shape.count), port.shape)
            feed.kept = caches
        } else if !function.changedStates.isEmpty {
            feed.states.merge(try statesAfterRuns(of: index, model, feed.states)) { $1 }
        }
        feed.states = feed.states.filter { Self.isFinite($1) }
        let given = Set(feed.states.keys).union(function.changedStates.map(\.name))
        feed.drawnState = { [drawn] name in given.contains(name) ? nil : drawn.state(name, of: model) }
        return feed
    }

    private static func isFinite(_ tensor: HostTensor) -> Bool { tensor.floats.allSatisfy(\.isFinite) }

    /// Returns all results of a run.
    private func results(of function: Int, _ feed: FunctionFeed) throws -> [String: HostTensor] {
        var results: [String: HostTensor] = [:]
        try run(function, feed) { results[$0] = $1 }
        return results
    }

    private func widened(_ state: FrozenProgram.State) -> Shape {
        HostTensor(state.initial, filling: TensorType(state.elementType, shape: state.shape)).wideningRows().shape
    }

    /// Returns the results of an encoder and of its cross-attention function on random features, by the names of outputs and states;
    /// empty if a function reads none.
    private func encoded(for function: FunctionPlan) throws -> [String: HostTensor] {
        let reads = function.states(.crossAttention).filter { state in
            !function.changedStates.contains { $0.name == state.name }
        }
        guard !function.interface.links.isEmpty || !reads.isEmpty else { return [:] }
        for (index, model) in models.enumerated() {
            guard let model, program.functions[index].interface.role == .encode else { continue }
            let made = try encodings[index] ?? encoding(by: index, model)
            encodings[index] = made
            let fits = function.interface.links.allSatisfy { link in
                function.inputs.first { $0.name == link.input }?.shape == made[link.output]?.shape
            }
            if fits, reads.allSatisfy({ made[$0.name]?.shape == widened($0) }) { return made }
        }
        return [:]
    }

    /// Returns the results of one encoder, and of the function behind it, on random features.
    private func encoding(by index: Int, _ model: FrozenProgram) throws -> [String: HostTensor] {
        let inputs = drawn.inputs(for: model)
        var made = try results(of: index, FunctionFeed(inputs: inputs))
        let tensors = inputs.reduce(into: [:]) { $0[$1.key] = $1.value.stored(name: $1.key) }
        for step in DecodingPlan.encoding(program, tensors) where !step.carried.isEmpty {
            let carried = step.inputs(carrying: made) { HostTensor($0) }
            made.merge(try results(of: step.function, FunctionFeed(inputs: carried))) { $1 }
        }
        return made
    }

    /// Returns the caches that a prefill with random tokens leaves, and the position of the next token.
    /// - Parameter states: those of an encoder, which the block reads too.
    private func caches(
        before function: FunctionPlan, _ states: [String: HostTensor]
    ) throws -> (count: Int, caches: KeptStates?) {
        let names = Set(function.states(.keyValueCache).map(\.name))
        func length(_ index: Int) -> Int { program.functions[index].input(.tokens)?.shape.dimensions.last ?? 0 }
        let capacity =
            models.compactMap(\.self).first { $0.functionName == function.name }.map { IntegerRanges($0).cacheLength }
            ?? 0
        let own = function.input(.tokens)?.shape.dimensions.last ?? 1
        let sharing = program.functions.indices.filter { index in
            let other = program.functions[index]
            return models[index] != nil && other.part == function.part && other.input(.position) != nil
                && length(index) > 0
                && other.states(.keyValueCache) == function.states(.keyValueCache)
                && other.states(.crossAttention) == function.states(.crossAttention)
        }
        guard !names.isEmpty, let first = sharing.max(by: { length($0) < length($1) }), let model = models[first] else {
            return (0, nil)
        }
        let room = capacity - max(own, length(first))
        guard room > 0 else { return (0, nil) }
        let blocks = length(first) > 1 ? 1 : min(room, Self.mostSteps)
        // An encoder's states may be others for each function.
        let caches = try (states.isEmpty ? prefills[first] : nil) ?? prefill(by: first, model, blocks, names, states)
        if states.isEmpty { prefills[first] = caches }
        return (min(blocks * length(first), capacity - own), caches)
    }

    /// Returns the caches that some blocks of random tokens leave, one after the other.
    /// - Parameters:
    ///   - names: those of the caches.
    ///   - states: those of an encoder, which each block reads too.
    private func prefill(
        by function: Int, _ model: FrozenProgram, _ blocks: Int, _ names: Set<String>, _ states: [String: HostTensor]
    ) throws -> KeptStates {
        var caches = KeptStates()
        for block in 0..<blocks {
            var inputs = SeededInputs(seed: earlier.seed &+ UInt64(block)).inputs(for: model)
            for port in program.functions[function].inputs
            where program.functions[function].interface.inputs[port.name]?.kind == .position {
                inputs[port.name] = HostTensor([Int64](repeating: Int64(block), count: port.shape.count), port.shape)
            }
            let next = KeptStates()
            let isLast = block == blocks - 1
            try run(function, FunctionFeed(inputs: inputs, states: states, kept: block == 0 ? nil : caches)) {
                name, tensor in
                guard names.contains(name), !isLast || Self.isFinite(tensor) else { return }
                try next.keep(tensor, as: name)
            }
            caches = next
        }
        return caches
    }

    /// Returns the states that some runs of a function on other random inputs leave.
    private func statesAfterRuns(
        of index: Int, _ model: FrozenProgram, _ given: [String: HostTensor]
    ) throws -> [String: HostTensor] {
        let names = Set(program.functions[index].states.map(\.name))
        var states = given
        for number in 0..<Self.earlierRuns {
            let inputs = SeededInputs(seed: earlier.seed &+ UInt64(number)).inputs(for: model)
            states.merge(try results(of: index, FunctionFeed(inputs: inputs, states: states))) { $1 }
        }
        return states.filter { names.contains($0.key) }
    }
}
