import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// What functions take from an encoder, made by the original model from the inputs of a file: the encoder's output, and the keys and
/// values that a decoder reads.
struct EncoderStates {
    let program: ModelPlan
    let model: ReferenceModel?

    /// - `isMade`: the original encoder made some of the feed.
    typealias Run = (function: Int, feed: FunctionFeed, isMade: Bool)

    /// Returns the runs with these states, and runs on the encoder's output of functions that take it. Runs for which the file has neither
    /// states nor what they are made from are left out: on zeros, which are those of no encoder, they would say nothing.
    /// - Throws: `RequestError` (unavailable) if no run is left.
    func given(to runs: [(function: Int, feed: FunctionFeed)], file: String) throws -> [Run] {
        let runs = runs.map { Run($0.function, $0.feed, false) }
        func missing(_ run: Run) -> [FrozenProgram.State] {
            program.functions[run.function].encoderStates(missingIn: run.feed)
        }
        let linked = program.functions.indices.filter { index in
            !program.functions[index].interface.links.isEmpty && !runs.contains { $0.function == index }
        }
        guard !linked.isEmpty || runs.contains(where: { !missing($0).isEmpty }) else { return runs }
        let made = try made(from: runs)
        let given = numbered(runs).compactMap { number, run -> Run? in
            let missing = missing(run)
            guard !missing.isEmpty else { return run }
            guard let values = Self.values(of: missing.map(\.port), in: made[number] ?? []) else { return nil }
            var feed = run.feed
            feed.states.merge(values) { $1 }
            return (run.function, feed, true)
        }
        if given.isEmpty, let lost = runs.first {
            let advice =
                otherSizes(in: file)
                ?? "give the inputs of the encoder too, as run takes them, or a tensor of that name"
            throw RequestError(
                "\(file): \(program.functions[lost.function].name) reads the state \"\(missing(lost).first?.name ?? "")\", which "
                    + "nothing in the file makes: \(advice)",
                status: .unavailable)
        }
        return given
            + linked.flatMap { index in
                made.sorted { $0.key < $1.key }.compactMap { _, made -> Run? in
                    Self.values(of: program.functions[index].inputs, in: made).map {
                        (index, FunctionFeed(inputs: $0), true)
                    }
                }
            }
    }

    /// What to say of an input of an encoder that the file has in other sizes; nil if it has none.
    private func otherSizes(in file: String) -> String? {
        guard let tensors = try? InputMatcher(file: file).tensors else { return nil }
        let makers = Set(program.functions.flatMap(\.interface.links).map(\.part))
        for function in program.functions where makers.contains(function.part) {
            for port in function.inputs {
                guard let tensor = tensors[port.name], tensor.shape != port.shape else { continue }
                let (found, wanted) = (tensor.shape.dimensions.last ?? 0, port.shape.dimensions.last ?? 0)
                let isShort = function.interface.inputs[port.name]?.kind == .melFeatures && found < wanted
                return
                    "its \"\(port.name)\" is \(tensor.elementType.rawValue)\(tensor.shape), and \(function.name) takes "
                    + port.typeText
                    + (isShort ? ": fill it up to \(wanted) frames, as its feature extractor does" : "")
            }
        }
        return nil
    }

    /// Each run with its number among those of its function.
    private func numbered(_ runs: [Run]) -> [(number: Int, run: Run)] {
        var counts: [Int: Int] = [:]
        return runs.map { run in
            defer { counts[run.function, default: 0] += 1 }
            return (counts[run.function, default: 0], run)
        }
    }

    /// What the original encoder, and the function behind it, make in each run of one of them, by the run's number.
    private func made(from runs: [Run]) throws -> [Int: [[String: StoredTensor]]] {
        let sources = Set(program.functions.flatMap(\.interface.links).map(\.part))
        let originals = program.functions.indices.compactMap { index -> FrozenProgram? in
            let function = program.functions[index]
            guard function.interface.role == .crossKeysAndValues || sources.contains(function.part) else { return nil }
            return model.flatMap { $0.withOwnStates?[index] ?? $0.unrounded[index] }
        }
        guard !originals.isEmpty else { return [:] }
        let plan = try Recipe(default: Codecs.codec("stored")).compressing(originals, threads: 1).planned()
        let session = try Session(plan)
        var all: [Int: [[String: StoredTensor]]] = [:]
        for (number, run) in numbered(runs) {
            let inputs = run.feed.inputs.reduce(into: [:]) { $0[$1.key] = $1.value.stored(name: $1.key) }
            var made: [String: StoredTensor] = [:]
            for step in DecodingPlan.encoding(plan, inputs) {
                for (input, output) in step.carried { made[input] = made[output]?.renamed(input) }
                for output in try session.run(step, carrying: made) { made[output.name] = output }
            }
            if !made.isEmpty { all[number, default: []].append(made) }
        }
        return all
    }

    /// Returns the values of ports from the first chain that has them all in their shapes; nil if none has.
    private static func values(
        of ports: [FrozenProgram.Port], in chains: [[String: StoredTensor]]
    ) -> [String: HostTensor]? {
        chains.lazy.compactMap { made -> [String: HostTensor]? in
            let values = ports.compactMap { port in
                made[port.name].flatMap { $0.shape == port.shape && $0.elementType == port.elementType ? $0 : nil }
            }
            guard values.count == ports.count else { return nil }
            return values.reduce(into: [:]) { $0[$1.name] = HostTensor($1) }
        }.first
    }
}

extension FunctionPlan {
    /// The keys and values of an encoder that the function reads and does not make, and that a run's feed lacks.
    func encoderStates(missingIn feed: FunctionFeed) -> [FrozenProgram.State] {
        let changed = Set(changedStates.map(\.name))
        return states(.crossAttention).filter { !changed.contains($0.name) && feed.state($0.name) == nil }
    }
}
