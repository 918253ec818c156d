import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// A run of all samples of a part. All chunks reach a weight before any continues, so that a weight's inputs are available for all
/// samples, and the weight can be replaced before any sample is multiplied with it.
///
/// Chunks take turns in the memory of a few lanes, one for each thread: between two weights a chunk has the values that later calls read,
/// which a `SampleStore` keeps. So memory does not grow with the number of samples.
final class SampleRun {
    /// The weights of matrix products, in the order of execution. A weight may occur several times.
    let weights: [String]
    let counts: [[Bool]?]
    /// The numbers of each chunk's samples.
    let samples: [[Int]]
    let sampleCount: Int
    let threads: Int
    /// The memory of the lanes and of the stored values, in bytes.
    private(set) var arenaBytes: Int
    private let functions: [FunctionPlan]
    /// The index of each chunk's function.
    private let functionOfChunk: [Int]
    /// For each function, the calls that read `weights`.
    private let calls: [[Int]]
    private var inputs: [[String: StoredTensor]]
    /// The values that states of each chunk have before a run.
    private var states: [[String: StoredTensor]]
    /// The indices of each chunk's samples in the file; nil for a chunk of all that it has.
    let rows: [[Int]?]
    /// The weights' names, by index in the program that all chunks share.
    private let weightNames: [String]
    private let lanes: [ExecutorLane]
    /// The values of each chunk at the weight that was reached.
    private let store: SampleStore
    /// The weight that all chunks have reached; nil for the beginning.
    private var reached: Int?
    private var live: [Int: [LiveMemory]] = [:]

    /// Prepares the run.
    /// - Parameters:
    ///   - held: bytes of other data that are in memory at the same time.
    ///   - window: the memory for values between two weights, in bytes; a file has the rest.
    /// - Throws: `RequestError` (unavailable) if a chunk of the samples does not fit into the remaining memory.
    init(
        _ samples: CalibrationSamples, besides held: Int = 0, window: Int = SampleStore.window, threads: Int
    ) throws {
        store = SampleStore(limit: window)
        self.threads = threads
        // All chunks share one copy of the weights, and those of one size a function.
        let sizes = samples.chunks.map(\.bindings)
        let distinct = sizes.distinct
        functionOfChunk = sizes.map { size in distinct.firstIndex(of: size) ?? 0 }
        let frozen = try distinct.map { try samples.part.freezing($0) }
        let program = try Recipe(default: Codecs.codec("stored")).compressing(frozen, threads: threads).planned()
        functions = program.functions
        let laneCount = max(1, min(threads, samples.chunks.count))
        let largest = program.functions.map(\.arenaBytes).max() ?? 0
        arenaBytes = largest * laneCount
        weightNames = program.weights.map(\.name)
        let calls = program.functions.map { function in
            function.calls.indices.filter { function.calls[$0].multipliedWeight != nil }
        }
        let sequences = zip(program.functions, calls).map { function, calls in
            calls.compactMap { function.calls[$0].multipliedWeight.map { program.weights[$0].name } }
        }
        self.calls = calls
        let weights = sequences.first ?? []
        self.weights = weights
        guard sequences.allSatisfy({ $0 == weights }) else {
            throw RequestError(
                "samples of different lengths take different ways through the model; give them one length")
        }
        counts = samples.chunks.map(\.counts)
        self.samples = samples.chunks.map(\.numbers)
        sampleCount = samples.count
        rows = samples.chunks.map(\.rows)
        func stored(_ tensors: [String: HostTensor]) -> [String: StoredTensor] {
            Dictionary(uniqueKeysWithValues: tensors.map { ($0.key, $0.value.stored(name: $0.key)) })
        }
        inputs = samples.chunks.map { stored($0.inputs) }
        states = samples.chunks.map { stored($0.states) }
        let model = PreparedModel(program)
        lanes = try (0..<laneCount).map { _ in try ExecutorLane(model, threads: max(1, threads / laneCount)) }
        let values = try weights.indices.map { weight in
            let live = try live(at: weight).map(\.byteCount)
            return MachineMemory.sum(functionOfChunk.map { live[$0] })
        }
        arenaBytes = MachineMemory.sum([arenaBytes, min(values.max() ?? 0, window)])
        try MachineMemory.require(
            MachineMemory.sum([arenaBytes, held]),
            for: "calibration with \(samples.count) samples of \(samples.part.name)")
    }

    // MARK: - Weights

    func reads(_ name: String) -> Bool { weightNames.contains(name) }

    /// Replaces the weight with the name of `tensor` in all samples, from here on.
    func replace(_ tensor: CompressedTensor) throws {
        guard let index = weightNames.firstIndex(of: tensor.name) else { return }
        for lane in lanes { try lane.replace(weight: index, by: tensor) }
    }

    /// Returns whether a weight is multiplied with the same vectors as the previous weight.
    func sharesInput(withWeightBefore weight: Int) -> Bool {
        guard weight > 0, let function = functions.first else { return false }
        let (before, now) = (calls[0][weight - 1], calls[0][weight])
        let operand = function.calls[now].inputs[0]
        guard function.calls[before].operation is Linear, function.calls[now].operation is Linear,
            function.calls[before].inputs[0] == operand
        else { return false }
        return !function.calls[before..<now].flatMap(\.outputs).contains { $0.overlaps(operand) }
    }

    /// Returns whether a call before the product with weight `index` reads a weight, as the lookup of a tied embedding does.
    func isRead(_ name: String, before index: Int) -> Bool {
        guard let function = functions.first, let own = weightNames.firstIndex(of: name) else { return false }
        return function.calls[..<calls[0][index]].contains { call in
            call.inputs.contains { if case .weight(own) = $0.storage { true } else { false } }
        }
    }

    /// The call of a chunk's function that multiplies a weight.
    func call(of weight: Int, chunk: Int) -> KernelCall {
        let function = functionOfChunk[chunk]
        return functions[function].calls[calls[function][weight]]
    }

    var chunks: Range<Int> { functionOfChunk.indices }

    // MARK: - Inputs

    /// Returns to the beginning, for another run.
    func restart() { reached = nil }

    /// Replaces an input, or the value that a state has before each run, by that of all samples in the order of the file.
    func feed(_ name: String, _ tensor: HostTensor) {
        for chunk in rows.indices {
            let own = (rows[chunk].map { tensor.samples($0) } ?? tensor).stored(name: name)
            if inputs[chunk][name] != nil { inputs[chunk][name] = own } else { states[chunk][name] = own }
        }
    }

    // MARK: - Running

    /// Runs all samples on to before a weight, or from the beginning if they are beyond it.
    func run(to weight: Int) throws {
        if let reached, reached > weight { restart() }
        guard reached != weight else { return }
        let values = try live(at: weight)
        _ = try forEachChunk { chunk, executor in
            let function = functionOfChunk[chunk]
            try run(chunk, on: executor, to: calls[function][weight])
            let live = values[function]
            try store.store(chunk, count: live.byteCount) { try executor.save(live, to: $0) }
        }
        reached = weight
    }

    /// Runs all samples from the weight that they have reached, or from the beginning, to the end. They stay at the weight.
    /// - Parameter body: receives the outputs of each chunk. Several threads call it.
    func finish<Result: Sendable>(_ body: @Sendable (_ chunk: Int, [StoredTensor]) throws -> Result) throws -> [Result]
    {
        try forEachChunk { chunk, executor in
            try run(chunk, on: executor, to: functions[functionOfChunk[chunk]].calls.count)
            return try body(chunk, executor.results)
        }
    }

    /// Calls `body` with the vectors of a chunk that the weight which all have reached is multiplied with.
    func forEachVector(of chunk: Int, _ body: (UnsafePointer<Float>, _ position: Int) -> Void) throws {
        guard let reached else { return }
        let executor = try lanes[0].executor(of: functionOfChunk[chunk])
        let call = calls[functionOfChunk[chunk]][reached]
        try run(chunk, on: executor, to: call)
        executor.forEachVector(ofCall: call, body)
    }

    /// Continues a chunk from where all have stopped.
    private func run(_ chunk: Int, on executor: Executor, to end: Int) throws {
        let function = functionOfChunk[chunk]
        let start = reached.map { calls[function][$0] } ?? 0
        try executor.start(with: inputs[chunk])
        if let reached {
            let live = try live(at: reached)[function]
            try store.read(chunk, count: live.byteCount) { try executor.restore(live, from: $0) }
        }
        try executor.beginStates(of: start..<end, with: states[chunk])
        for call in start..<end { try executor.step(call) }
    }

    private func forEachChunk<Result: Sendable>(
        _ body: (_ chunk: Int, _ executor: Executor) throws -> Result
    ) throws -> [Result] {
        // Made before threads ask for them.
        if let reached { _ = try live(at: reached) }
        // Each lane is used by one thread at a time, and what the body reads of this run does not change meanwhile.
        nonisolated(unsafe) let (run, body) = (self, body)
        let free = Locked(Array(lanes.indices))
        return try Parallel.map(chunks.count, threads: lanes.count) { chunk in
            let lane = free.withLock { $0.removeLast() }
            defer { free.withLock { $0.append(lane) } }
            return try body(chunk, run.lanes[lane].executor(of: run.functionOfChunk[chunk]))
        }
    }

    /// The values that each function's calls from a weight on read.
    private func live(at weight: Int) throws -> [LiveMemory] {
        if let known = live[weight] { return known }
        let found = try functions.indices.map { try LiveMemory(of: functions[$0], before: calls[$0][weight]) }
        live[weight] = found
        return found
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
