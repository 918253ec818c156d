import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// What functions take from an encoder, made by the original model from the inputs of a file: the encoder's output, and the keys and
/// values that a decoder reads.
struct EncoderStates {
    private let program: ModelPlan
    private let model: ReferenceModel?

    typealias Run = (function: Int, feed: FunctionFeed)

    init(of program: ModelPlan, _ model: ReferenceModel?) { (self.program, self.model) = (program, model) }

    /// Returns the runs with these states, and runs on the encoder's output of functions that take it. Runs for which the file has neither
    /// states nor what they are made from are left out: on zeros, which are those of no encoder, they would say nothing.
    /// - Throws: `RequestError` (unavailable) if no run is left.
    func given(to runs: [Run], file: String) throws -> [Run] {
        var numbers: [Int: Int] = [:]
        var makers: [Int: Maker?] = [:]
        let given = try runs.compactMap { run -> Run? in
            let number = numbers[run.function, default: 0]
            numbers[run.function] = number + 1
            let missing = program.functions[run.function].encoderStates(missingIn: run.feed)
            guard !missing.isEmpty else { return run }
            let maker = try makers[run.function] ?? self.maker(of: missing, in: runs)
            makers[run.function] = maker
            guard let made = try maker?.states(number) else { return nil }
            var run = run
            for state in missing { run.feed.states[state.name] = made[state.name] }
            return run
        }
        if given.isEmpty, let lost = runs.first {
            let (function, states) = (program.functions[lost.function], lost.feed)
            throw RequestError(
                "\(file): \(function.name) reads the state \"\(function.encoderStates(missingIn: states).first?.name ?? "")\", which "
                    + "nothing in the file makes: give the inputs of the encoder too, as run takes them, or a tensor of that name",
                status: .unavailable)
        }
        return given + (try onEncoderOutputs(runs))
    }

    /// The runs of functions that take an encoder's output, where the file has the encoder's inputs and not this output.
    private func onEncoderOutputs(_ runs: [Run]) throws -> [Run] {
        try program.functions.enumerated().flatMap { index, function -> [Run] in
            guard !runs.contains(where: { $0.function == index }), let link = function.interface.links.first,
                function.inputs.count == 1, let port = function.inputs.first, port.name == link.input,
                let (encoder, inputs) = encoder(of: link, giving: port.shape, in: runs)
            else { return [] }
            let session = try session([encoder])
            return try inputs.compactMap { inputs in
                try session.run(0, inputs.stored).first { $0.name == link.output }
                    .map { Run(index, FunctionFeed(inputs: [port.name: HostTensor($0)])) }
            }
        }
    }

    /// The encoder that a link is to, and its inputs in the file, run by run; nil if the file has none.
    private func encoder(
        of link: Interface.Link, giving shape: Shape, in runs: [Run]
    ) -> (function: FrozenProgram, inputs: [[String: HostTensor]])? {
        for (index, encoder) in program.functions.enumerated() where encoder.part == link.part {
            guard encoder.outputs.contains(where: { $0.name == link.output && $0.operand.shape == shape }),
                let function = original(index), case let given = inputs(of: index, in: runs), !given.isEmpty
            else { continue }
            return (function, given)
        }
        return nil
    }

    private func inputs(of function: Int, in runs: [Run]) -> [[String: HostTensor]] {
        runs.filter { $0.function == function }.map(\.feed.inputs)
    }

    private func original(_ function: Int) -> FrozenProgram? {
        model.flatMap { $0.withOwnStates?[function] ?? $0.unrounded[function] }
    }

    private func session(_ functions: [FrozenProgram]) throws -> Session {
        try Session(Recipe(default: Codecs.codec("stored")).compressing(functions, threads: 1).planned())
    }

    /// The function that makes the states, behind the encoder where the file has the encoder's inputs.
    private struct Maker {
        let session: Session
        let inputs: [[String: HostTensor]]
        /// The output of the first function that the second takes, and the name that it has there; nil for one function.
        let link: (output: String, input: String)?

        func states(_ number: Int) throws -> [String: HostTensor]? {
            guard inputs.indices.contains(number) else { return nil }
            var made = try session.run(0, inputs[number].stored)
            if let link {
                guard let hidden = made.first(where: { $0.name == link.output }) else { return nil }
                made = try session.run(1, [link.input: hidden.renamed(link.input)])
            }
            return Dictionary(made.map { ($0.name, HostTensor($0)) }) { first, _ in first }
        }
    }

    private func maker(of states: [FrozenProgram.State], in runs: [Run]) throws -> Maker? {
        for (index, keeper) in program.functions.enumerated() where keeper.interface.role == .crossKeysAndValues {
            let made = keeper.outputs.map { "\($0.name) \($0.operand.shape)" }
            guard let own = original(index), let link = keeper.interface.links.first, keeper.inputs.count == 1,
                states.allSatisfy({ $0.elementType == .float32 && made.contains("\($0.name) \($0.shape)") })
            else { continue }
            if case let given = inputs(of: index, in: runs), !given.isEmpty {
                return Maker(session: try session([own]), inputs: given, link: nil)
            }
            if let (first, given) = encoder(of: link, giving: keeper.inputs[0].shape, in: runs) {
                return Maker(session: try session([first, own]), inputs: given, link: (link.output, link.input))
            }
        }
        return nil
    }
}

extension [String: HostTensor] {
    fileprivate var stored: [String: StoredTensor] {
        reduce(into: [:]) { $0[$1.key] = $1.value.stored(name: $1.key) }
    }
}

extension FunctionPlan {
    /// The keys and values of an encoder that the function reads and does not make, and that a run's feed lacks.
    func encoderStates(missingIn feed: FunctionFeed) -> [FrozenProgram.State] {
        let changed = Set(changedStates.map(\.name))
        return states(.crossAttention).filter { !changed.contains($0.name) && feed.state($0.name) == nil }
    }
}
