import Accel
import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The inputs and states that functions take from an encoder, made by the original model from the inputs of a file: the encoder's
/// output, and the keys and values that a decoder reads.
struct EncoderStates {
    let program: ModelPlan
    let model: ReferenceModel?

    typealias Run = FeedPlan.Run

    /// Returns the runs with these states, and runs on the encoder's output of functions that take it. Runs for which the file has neither
    /// states nor the encoder's inputs are left out: a decoder is meaningless on zero encoder states.
    /// - Throws: `RequestError` (unavailable) if no run is left.
    func given(to runs: [Run], file: InputMatcher) throws -> [Run] {
        func missing(_ run: Run) -> [FrozenProgram.State] {
            program.functions[run.function].encoderStates(missingIn: run.feed)
        }
        let linked = program.functions.indices.filter { index in
            !program.functions[index].interface.links.isEmpty && !runs.contains { $0.function == index }
        }
        guard !linked.isEmpty || runs.contains(where: { !missing($0).isEmpty }) else { return runs }
        let encoders = try encoderRuns(among: runs)
        let first = try encoders?.made(0) ?? []
        let given = numbered(runs).compactMap { number, run -> Run? in
            let ports = missing(run).map(\.port)
            guard !ports.isEmpty else { return run }
            guard let encoders, encoders.count > number, Self.values(of: ports, in: first) != nil else { return nil }
            var made = Run(function: run.function, feed: run.feed, isMade: true)
            made.feed.made = Set(ports.map(\.name))
            made.feed.add { ([:], try encoders.values(of: ports, number)) }
            return made
        }
        if given.isEmpty, let lost = runs.first {
            throw RequestError(
                "\(file.file): \(program.functions[lost.function].name) reads the state \"\(missing(lost).first?.name ?? "")\" of an "
                    + "encoder; neither it nor inputs of the encoder in its shape are in the file: \(file.heldText)",
                status: .unavailable)
        }
        return given
            + linked.flatMap { index in
                let ports = program.functions[index].inputs
                guard let encoders, Self.values(of: ports, in: first) != nil else { return [Run]() }
                return (0..<encoders.count).map { number in
                    var made = Run(function: index, feed: FunctionFeed(), isMade: true)
                    made.feed.add { (try encoders.values(of: ports, number), [:]) }
                    return made
                }
            }
    }

    /// Each run with its number among those of its function.
    private func numbered(_ runs: [Run]) -> [(number: Int, run: Run)] {
        var counts: [Int: Int] = [:]
        return runs.map { run in
            defer { counts[run.function, default: 0] += 1 }
            return (counts[run.function, default: 0], run)
        }
    }

    /// The runs of the original encoder, and of the function behind it, on the inputs of the encoder's runs; nil if the model has none.
    private func encoderRuns(among runs: [Run]) throws -> EncoderRuns? {
        let sources = Set(program.functions.flatMap(\.interface.links).map(\.part))
        let originals = program.functions.indices.compactMap { index -> FrozenProgram? in
            let function = program.functions[index]
            guard function.interface.role == .crossKeysAndValues || sources.contains(function.part) else { return nil }
            return model.flatMap { $0.withOwnStates?[index] ?? $0.unrounded[index] }
        }
        guard !originals.isEmpty else { return nil }
        let plan = try Recipe(default: Codecs.codec("stored")).compressing(originals, threads: 1).planned()
        var feeds: [[FunctionFeed]] = []
        for (number, run) in numbered(runs) {
            guard !DecodingPlan.encoding(plan, try run.feed.storedInputs()).isEmpty else { continue }
            while feeds.count <= number { feeds.append([]) }
            feeds[number].append(run.feed)
        }
        return try EncoderRuns(plan, on: feeds)
    }

    /// Returns the values of ports from the first chain that has them all in their shapes; nil if none has.
    fileprivate static func values(
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

/// Runs of the original encoder, each made when its results are needed; those of the last one are kept.
private final class EncoderRuns {
    private let plan: ModelPlan
    private let session: Session
    /// For each run, those of the encoders.
    private let feeds: [[FunctionFeed]]
    private var last: (number: Int, made: [[String: StoredTensor]])?

    init(_ plan: ModelPlan, on feeds: [[FunctionFeed]]) throws {
        (self.plan, self.feeds) = (plan, feeds)
        session = try Session(plan)
    }

    var count: Int { feeds.count }

    /// Returns the results of each chain of functions in a run, by name.
    func made(_ number: Int) throws -> [[String: StoredTensor]] {
        if let last, last.number == number { return last.made }
        guard feeds.indices.contains(number) else { return [] }
        let all = try feeds[number].map { feed in
            var made: [String: StoredTensor] = [:]
            for step in DecodingPlan.encoding(plan, try feed.storedInputs()) {
                for (input, output) in step.carried { made[input] = made[output]?.renamed(input) }
                for output in try session.run(step, carrying: made) { made[output.name] = output }
            }
            return made
        }
        last = (number, all)
        return all
    }

    /// Returns the values of ports in a run.
    /// - Throws: `RequestError` if nothing makes them in this run, as it did in the first one.
    func values(of ports: [FrozenProgram.Port], _ number: Int) throws -> [String: HostTensor] {
        guard let values = EncoderStates.values(of: ports, in: try made(number)) else {
            throw RequestError("the encoder makes no \"\(ports.first?.name ?? "")\" of sample \(number)")
        }
        return values
    }
}

extension FunctionFeed {
    /// Makes the inputs.
    fileprivate func storedInputs() throws -> [String: StoredTensor] {
        try completed().inputs.reduce(into: [:]) { $0[$1.key] = $1.value.stored(name: $1.key) }
    }
}

extension FunctionPlan {
    /// The keys and values of an encoder that the function reads and does not make, and that a run's feed lacks.
    func encoderStates(missingIn feed: FunctionFeed) -> [FrozenProgram.State] {
        let changed = Set(changedStates.map(\.name))
        return states(.crossAttention).filter {
            !changed.contains($0.name) && !feed.made.contains($0.name) && !feed.hasState($0.name)
        }
    }
}
