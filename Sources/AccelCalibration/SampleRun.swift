import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// A run of all samples of a part in parallel: each chunk has its own executor, and all chunks reach a weight before
/// any continues. So a weight's inputs are available for all samples while only the live values of one point are in
/// memory, and the weight can be replaced before any sample is multiplied with it.
final class SampleRun {
    /// The weights of matrix products, in the order of execution. A weight may occur several times.
    let weights: [String]
    let executors: [Executor]
    /// For each chunk, the calls that read `weights`.
    let calls: [[Int]]
    let counts: [[Bool]?]
    /// The numbers of each chunk's samples.
    let samples: [[Int]]
    let sampleCount: Int
    private var inputs: [[String: StoredTensor]]
    /// The states of each chunk.
    private let states: [StateMemory]
    /// The indices of each chunk's samples in the file; nil for a chunk of all that it has.
    private let rows: [[Int]?]
    let threads: Int
    /// The weights' names, by index in the program that all chunks share.
    private let weightNames: [String]

    /// The memory of all samples together, in bytes.
    let arenaBytes: Int

    /// Prepares the run.
    /// - Parameter held: bytes of other data that are in memory at the same time.
    /// - Throws: `RequestError` (unavailable) if the samples do not fit into the remaining memory.
    init(_ samples: CalibrationSamples, besides held: Int = 0, threads: Int) throws {
        self.threads = threads
        // All chunks share one copy of the weights.
        let functions = try samples.chunks.map { try samples.part.freezing($0.bindings) }
        let program = try Recipe(default: Codecs.codec("stored")).compressing(functions, threads: threads).planned()
        arenaBytes = MachineMemory.sum(program.functions.map(\.arenaBytes))
        try MachineMemory.require(
            MachineMemory.sum([arenaBytes, held]),
            for: "calibration with \(samples.count) samples of \(samples.part.name)")
        let each = max(1, threads / max(functions.count, 1))
        let states = try program.functions.map { try StateMemory([$0]) }
        for (memory, chunk) in zip(states, samples.chunks) where !chunk.states.isEmpty {
            try memory.set(chunk.states.map { $0.value.stored(name: $0.key) })
        }
        self.states = states
        rows = samples.chunks.map(\.rows)
        let executors = try functions.indices.map {
            try Executor(program, function: $0, threads: each, states: states[$0])
        }
        self.executors = executors
        weightNames = program.weights.map(\.name)
        let calls = executors.map { executor in
            executor.function.calls.indices.filter { executor.function.calls[$0].multipliedWeight != nil }
        }
        let sequences = zip(executors, calls).map { executor, calls in
            calls.compactMap { executor.function.calls[$0].multipliedWeight.map { program.weights[$0].name } }
        }
        self.calls = calls
        let weights = sequences.first ?? []
        self.weights = weights
        counts = samples.chunks.map(\.counts)
        self.samples = samples.chunks.map(\.numbers)
        sampleCount = samples.count
        inputs = samples.chunks.map { chunk in
            Dictionary(uniqueKeysWithValues: chunk.inputs.map { ($0.key, $0.value.stored(name: $0.key)) })
        }
        guard sequences.allSatisfy({ $0 == weights }) else {
            throw RequestError(
                "samples of different lengths take different ways through the model; give them one length")
        }
        try restart()
    }

    /// Runs all samples from weight `start` (nil for the beginning) to before weight `end` (nil for the end).
    func run(from start: Int?, to end: Int?) throws {
        nonisolated(unsafe) let executors = executors
        let calls = calls
        try Parallel.forEach(executors.count, threads: threads) { chunk in
            let first = start.map { calls[chunk][$0] } ?? 0
            let last = end.map { calls[chunk][$0] } ?? executors[chunk].function.calls.count
            for call in first..<last { try executors[chunk].step(call) }
        }
    }

    /// Returns whether a weight is multiplied with the same vectors as the previous weight.
    func sharesInput(withWeightBefore weight: Int) -> Bool {
        guard weight > 0, let function = executors.first?.function else { return false }
        let (before, now) = (calls[0][weight - 1], calls[0][weight])
        let operand = function.calls[now].inputs[0]
        guard function.calls[before].operation is Linear, function.calls[now].operation is Linear,
            function.calls[before].inputs[0] == operand
        else { return false }
        return !function.calls[before..<now].flatMap(\.outputs).contains { $0.overlaps(operand) }
    }

    /// Returns whether a call before the product with weight `index` reads a weight, as the lookup of a tied embedding does.
    func isRead(_ name: String, before index: Int) -> Bool {
        guard let function = executors.first?.function, let own = weightNames.firstIndex(of: name) else { return false }
        return function.calls[..<calls[0][index]].contains { call in
            call.inputs.contains { if case .weight(own) = $0.storage { true } else { false } }
        }
    }

    /// Sets the inputs of all samples, for another run from the beginning.
    func restart() throws {
        for (executor, inputs) in zip(executors, inputs) { try executor.start(with: inputs) }
    }

    /// Replaces an input, or the value that a state has before each run, by that of all samples in the order of the file.
    func feed(_ name: String, _ tensor: HostTensor) throws {
        for chunk in rows.indices {
            let own = (rows[chunk].map { tensor.samples($0) } ?? tensor).stored(name: name)
            if inputs[chunk][name] != nil { inputs[chunk][name] = own } else { try states[chunk].set([own]) }
        }
    }

    /// Returns an output of all samples, in the order of the file; nil if there is none, or if the sizes of samples differ.
    func gathered(_ name: String) -> HostTensor? {
        let parts = executors.compactMap { $0.results.first { $0.name == name } }.map(HostTensor.init)
        if rows == [nil] { return parts.first }
        let rows = rows.compactMap(\.self)
        guard parts.count == rows.count, let first = parts.first, first.elementType == .float32, first.shape.rank > 0,
            Set(parts.map { Array($0.shape.dimensions.dropFirst()) }).count == 1
        else { return nil }
        var sizes = first.shape.dimensions
        let width = first.shape.count / max(sizes[0], 1)
        sizes[0] = rows.reduce(0) { $0 + $1.count }
        var all = [Float](repeating: 0, count: sizes[0] * width)
        for (part, rows) in zip(parts, rows) {
            let floats = part.floats
            for (place, row) in rows.enumerated() {
                all.replaceSubrange(row * width..<(row + 1) * width, with: floats[place * width..<(place + 1) * width])
            }
        }
        return HostTensor(all, Shape(sizes))
    }

    /// Returns the current memory of all samples, without the states of a decoder.
    func snapshot() -> [ArenaSnapshot] { executors.map { $0.snapshot() } }
    func restore(_ snapshots: [ArenaSnapshot]) {
        for (executor, snapshot) in zip(executors, snapshots) { executor.restore(snapshot) }
    }

    /// Returns the outputs of each chunk after a complete run.
    func outputs() -> [[StoredTensor]] { executors.map(\.results) }

    /// Returns the mean error of the outputs against a reference run.
    func error(of outputs: [[StoredTensor]], from reference: [[StoredTensor]]) -> Double {
        errors(of: outputs, from: reference).mean
    }

    /// Returns the error of each float output against a reference run. Masked positions are ignored.
    func sampledErrors(of outputs: [[StoredTensor]], from reference: [[StoredTensor]]) -> SampledErrors {
        let held = errors(of: outputs, from: reference, heldOut: true)
        return SampledErrors(all: errors(of: outputs, from: reference), heldOut: held.isEmpty ? nil : held)
    }

    /// - Parameter heldOut: over the samples that are held out; empty if none is.
    private func errors(
        of outputs: [[StoredTensor]], from reference: [[StoredTensor]], heldOut: Bool = false
    ) -> [String: Double] {
        var sums: [String: (error: Double, energy: Double)] = [:]
        for (chunk, (found, wanted)) in zip(outputs, reference).enumerated() {
            for (output, exact) in zip(found, wanted) where exact.elementType == .float32 {
                let held = samples[chunk].map(CalibrationSamples.isHeldOut)
                guard !heldOut || held.contains(true) else { continue }
                let (values, targets) = (output.floats(), exact.floats())
                let each = max(1, targets.count / max(held.count, 1))
                let sizes = exact.shape.dimensions
                var mask = counts[chunk]
                let positionCount = sizes.count > 2 ? sizes[0] * sizes[1] : 0
                if mask?.count != positionCount { mask = nil }
                let width = max(1, targets.count / max(positionCount, 1))
                var (error, energy) = sums[exact.name] ?? (0, 0)
                for index in targets.indices where mask?[index / width] ?? true {
                    if heldOut, !held[min(index / each, held.count - 1)] { continue }
                    let difference = Double(values[index]) - Double(targets[index])
                    error += difference * difference
                    energy += Double(targets[index]) * Double(targets[index])
                }
                sums[exact.name] = (error, energy)
            }
        }
        return sums.mapValues { $0.error / max($0.energy, 1e-30) }
    }

    func reads(_ name: String) -> Bool { weightNames.contains(name) }

    /// Replaces the weight with the name of `tensor` in all samples, from here on.
    func replace(_ tensor: CompressedTensor) throws {
        guard let index = weightNames.firstIndex(of: tensor.name) else { return }
        for executor in executors { try executor.replace(weight: index, by: tensor) }
    }
}

extension Operand {
    /// Returns whether both may share a byte.
    fileprivate func overlaps(_ other: Operand) -> Bool {
        guard case .arena(let start) = storage, case .arena(let otherStart) = other.storage else {
            return storage == other.storage
        }
        return start < otherStart + other.byteSpan && otherStart < start + byteSpan
    }

    private var byteSpan: Int { ((layout.lastElement ?? 0) + 1) * elementType.byteCount }
}
