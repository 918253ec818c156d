import AccelCPURuntime
import AccelPrograms
import AccelTensors

/// A run of a function call by call, on this processor's kernels. A state takes memory from the first call that uses it
/// to the last.
final class PackageRun {
    private let session: Session
    private let executor: Executor
    private let function: FunctionPlan
    private let feed: FunctionFeed
    private let uses: StateUses
    /// The names of the function's outputs.
    private let outputs: Set<String>

    /// - Throws: `RequestError` for inputs that are not the function's.
    init(_ program: ModelPlan, function index: Int, _ feed: FunctionFeed, threads: Int) throws {
        session = try Session(program, threads: threads)
        executor = try session.executor(of: index)
        function = program.functions[index]
        self.feed = feed
        uses = StateUses(function)
        outputs = Set(function.outputs.map(\.name))
        try executor.start(
            with: Dictionary(uniqueKeysWithValues: feed.inputs.map { ($0.key, $0.value.stored(name: $0.key)) }))
    }

    /// Makes a call; all before it have been made.
    /// - Throws: `ShapeError` naming the operator for invalid values.
    func step(_ call: Int) throws {
        try load(uses.first[call])
        try executor.step(call)
    }

    private func load(_ states: [Int]) throws {
        for index in states {
            let state = function.states[index]
            guard let value = try feed.state(state.name)?.converted(to: state.elementType) else { continue }
            try session.states.set(value, of: state)
        }
    }

    /// Returns copies of the outputs of the last call.
    func results(of call: Int) -> [HostTensor] { executor.results(ofCall: call) }

    /// Hands over the states that no call after this one uses.
    func release(after call: Int, _ body: (_ name: String, HostTensor) throws -> Void) rethrows {
        for index in uses.last[call] {
            let state = function.states[index]
            // An output of the same name is compared in its place.
            if !outputs.contains(state.name), let value = session.states.tensor(of: state) {
                try body(state.name, value.wideningRows())
            }
            session.states.discard(state)
        }
    }

    /// Hands over the outputs and the remaining states after the last call.
    func finish(_ body: (_ name: String, HostTensor) throws -> Void) throws {
        let end = function.calls.count
        try load(uses.first[end])
        try release(after: end, body)
        for output in executor.results { try body(output.name, HostTensor(output)) }
    }
}
