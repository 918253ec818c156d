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
    private let runWeights: RunWeights
    private let lanes: [ExecutorLane]
    /// The values of each chunk at the weight that was reached.
    private let store: SampleStore
    /// The memory for values of samples.
    let memory: SampleMemory
    /// The chunks of each slice. Statistics are summed up slice by slice, so that several processes can share the slices out.
    let slices: [Range<Int>]
    /// The weight that the chunks of each slice have reached; nil for the beginning.
    private var reached: [Int?]
    /// Whether a weight was replaced that calls before one of those read.
    private var isOutdated = false
    /// The encodings that weights were replaced by, by name.
    private var replacements: [String: CompressedTensor] = [:]
    private var live: [Int: [LiveMemory]] = [:]

    /// Prepares the run.
    /// - Parameters:
    ///   - held: bytes of other data that are in memory at the same time.
    ///   - memory: the memory for values between two weights; nil for that of the samples. A file has the rest.
    /// - Throws: `RequestError` (unavailable) if a chunk of the samples does not fit into the remaining memory.
    init(
        _ samples: CalibrationSamples, besides held: Int = 0, memory: SampleMemory? = nil, threads: Int
    ) throws {
        let memory = memory ?? samples.memory
        self.memory = memory
        store = SampleStore(in: memory)
        self.threads = threads
        // All chunks share one copy of the weights, and those of one size a function.
        let sizes = samples.chunks.map(\.bindings)
        let distinct = sizes.distinct
        functionOfChunk = sizes.map { size in distinct.firstIndex(of: size) ?? 0 }
        let frozen = try distinct.map { try samples.part.freezing($0) }
        let (compressed, runWeights) = try RunWeights.weights(of: frozen, threads: threads)
        let program = try compressed.planned()
        functions = program.functions
        slices = samples.slices
        reached = [Int?](repeating: nil, count: samples.slices.count)
        let laneCount = max(1, min(threads, samples.chunks.count))
        let largest = program.functions.map(\.arenaBytes).max() ?? 0
        arenaBytes = MachineMemory.sum([largest * laneCount, runWeights.largestBytes])
        self.runWeights = runWeights
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
        arenaBytes = MachineMemory.sum([arenaBytes, min(values.max() ?? 0, memory.limit)])
        try MachineMemory.require(
            MachineMemory.sum([arenaBytes, held]),
            for: "calibration with \(samples.count) samples of \(samples.part.name)")
    }

    // MARK: - Weights

    func reads(_ name: String) -> Bool { weightNames.contains(name) }

    /// Replaces the weight with the name of `tensor` in all samples, from here on.
    func replace(_ tensor: CompressedTensor) throws {
        guard reads(tensor.name) else { return }
        runWeights.forget(tensor.name)
        try put(tensor)
        replacements[tensor.name] = tensor
        isOutdated = isOutdated || Set(reached).contains { $0.map { isRead(tensor.name, before: $0) } ?? false }
    }

    private func put(_ tensor: CompressedTensor) throws {
        guard let index = weightNames.firstIndex(of: tensor.name) else { return }
        for lane in lanes { try lane.replace(weight: index, by: tensor) }
    }

    /// Makes the replaced weights those of `tensors`, for runs from the beginning to the end. Those that have the same encoding stay, so
    /// that samples may stay where they are if no call before has read another one.
    /// - Returns: False, with nothing changed, if a weight was replaced that is not among them.
    func replaceAll(by tensors: [CompressedTensor]) throws -> Bool {
        let own = tensors.filter { reads($0.name) }
        guard Set(replacements.keys).isSubset(of: own.map(\.name)) else { return false }
        for tensor in own where replacements[tensor.name]?.encodingDescription != tensor.encodingDescription {
            try replace(tensor)
        }
        if isOutdated { restart() }
        return true
    }

    /// Decodes the weights that calls between two weights read, and gives all others back.
    /// - Parameters:
    ///   - start: nil for the beginning.
    ///   - end: the number of weights for the end.
    private func hold(from start: Int?, to end: Int) throws {
        let names = functions.indices.map { weightsRead(by: $0, from: start, to: end) }
        try runWeights.hold(names.reduce(into: Set()) { $0.formUnion($1) }, threads: threads, replace: put)
    }

    private func weightsRead(by function: Int, from start: Int?, to end: Int) -> Set<String> {
        Set(
            functions[function].weights(of: place(of: start, in: function)..<place(of: end, in: function)).map {
                weightNames[$0]
            })
    }

    /// The call of a function that multiplies a weight; 0 for the beginning, and the number of calls behind the last weight.
    private func place(of weight: Int?, in function: Int) -> Int {
        guard let weight else { return 0 }
        return weight < weights.count ? calls[function][weight] : functions[function].calls.count
    }

    /// The weights before which a run from one weight to another pauses, so that few decoded weights are in memory at a time.
    private func pauses(from start: Int?, to end: Int) -> [Int] {
        guard !functions.isEmpty else { return [] }
        var (pauses, held) = ([Int](), Set<String>())
        var last = start
        for next in (start.map { $0 + 1 } ?? 0)..<(end + 1) {
            let read = weightsRead(by: 0, from: last, to: next)
            if let last, last != start, !held.isEmpty, !runWeights.mayHold(held.union(read)) {
                pauses.append(last)
                held = []
            }
            held.formUnion(read)
            last = next
        }
        return pauses
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
    func restart() {
        reached = [Int?](repeating: nil, count: slices.count)
        isOutdated = false
    }

    /// Replaces an input, or the value that a state has before each run, by that of all samples in the order of the file.
    func feed(_ name: String, _ tensor: HostTensor) {
        for chunk in rows.indices {
            let own = (rows[chunk].map { tensor.samples($0) } ?? tensor).stored(name: name)
            if inputs[chunk][name] != nil { inputs[chunk][name] = own } else { states[chunk][name] = own }
        }
    }

    // MARK: - Running

    /// Runs samples on to before a weight, or from the beginning if they are beyond it.
    /// - Parameter wanted: the slices to run; nil for all.
    func run(to weight: Int, slices wanted: Range<Int>? = nil) throws {
        let wanted = wanted ?? slices.indices
        for slice in wanted where reached[slice].map({ $0 > weight }) ?? false { reached[slice] = nil }
        for start in Set(wanted.map { reached[$0] }).sorted(by: { $0 ?? -1 < $1 ?? -1 }) where start != weight {
            let group = wanted.filter { reached[$0] == start }
            var last = start
            for stop in pauses(from: start, to: weight) + [weight] {
                try advance(group.flatMap { slices[$0] }, from: last, store, to: stop, store)
                for slice in group { reached[slice] = stop }
                last = stop
            }
        }
    }

    /// The weight that a chunk has reached.
    private func reached(by chunk: Int) -> Int? { slices.firstIndex { $0.contains(chunk) }.flatMap { reached[$0] } }

    /// Runs chunks from a weight, with the values in a store, to another one.
    private func advance(
        _ chunks: [Int], from start: Int?, _ values: SampleStore, to weight: Int, _ target: SampleStore
    ) throws {
        let saved = try live(at: weight)
        try hold(from: start, to: weight)
        _ = try forEachChunk(of: chunks, from: start) { chunk, _, executor in
            let function = functionOfChunk[chunk]
            try run(chunk, from: start, values, on: executor, to: calls[function][weight])
            let live = saved[function]
            try target.store(chunk, count: live.byteCount) { try executor.save(live, to: $0) }
        }
    }

    /// Runs all samples from the weight that they have reached, or from the beginning, to the end. They stay at the weight.
    /// - Parameter body: receives the outputs of each chunk. Several threads call it.
    func finish<Result: Sendable>(_ body: @Sendable (_ chunk: Int, [StoredTensor]) throws -> Result) throws -> [Result]
    {
        let (start, values) = try approachEnd(slices.indices)
        return try forEachChunk(of: Array(chunks), from: start) { chunk, _, executor in
            try run(chunk, from: start, values, on: executor, to: functions[functionOfChunk[chunk]].calls.count)
            return try body(chunk, executor.results)
        }
    }

    /// Runs samples of this run and of another one, from the weights that they have reached, or from the beginning, to the end. They
    /// stay at the weights.
    /// - Parameters:
    ///   - wanted: the slices to run; nil for all.
    ///   - other: a run of the same samples with the same number of threads.
    ///   - body: receives the executors of both with the outputs of each chunk. Several threads call it.
    func finish<Result: Sendable>(
        _ wanted: Range<Int>? = nil, besides other: SampleRun,
        _ body: @Sendable (_ chunk: Int, Executor, _ other: Executor) throws -> Result
    ) throws -> [Result] {
        let wanted = wanted ?? slices.indices
        let (start, values) = try approachEnd(wanted)
        let (otherStart, otherValues) = try other.approachEnd(wanted)
        // Made before threads ask for them.
        if let otherStart { _ = try other.live(at: otherStart) }
        return try forEachChunk(of: wanted.flatMap { slices[$0] }, from: start) { chunk, lane, executor in
            let function = other.functionOfChunk[chunk]
            let second = try other.lanes[lane].executor(of: function)
            try other.run(chunk, from: otherStart, otherValues, on: second, to: other.functions[function].calls.count)
            try run(chunk, from: start, values, on: executor, to: functions[functionOfChunk[chunk]].calls.count)
            return try body(chunk, executor, second)
        }
    }

    /// Runs samples from the weight that they have reached on, until the weights of all other calls may be in memory. They stay at the
    /// weight.
    /// - Returns: The weight to continue from, nil for the beginning, and the values of samples there.
    private func approachEnd(_ wanted: Range<Int>) throws -> (start: Int?, values: SampleStore) {
        // Some may be behind others.
        if Set(wanted.map { reached[$0] }).count > 1, let last = wanted.compactMap({ reached[$0] }).max() {
            try run(to: last, slices: wanted)
        }
        let first = wanted.first.flatMap { reached[$0] }
        var (start, values) = (first, store)
        let passing = SampleStore(in: memory)
        for stop in pauses(from: first, to: weights.count) {
            try advance(wanted.flatMap { slices[$0] }, from: start, values, to: stop, passing)
            (start, values) = (stop, passing)
        }
        try hold(from: start, to: weights.count)
        return (start, values)
    }

    /// Calls `body` with the vectors of a chunk that the weight which it has reached is multiplied with.
    func forEachVector(of chunk: Int, _ body: (UnsafePointer<Float>, _ position: Int) -> Void) throws {
        guard let reached = reached(by: chunk) else { return }
        let executor = try lanes[0].executor(of: functionOfChunk[chunk])
        let call = calls[functionOfChunk[chunk]][reached]
        try run(chunk, from: reached, store, on: executor, to: call)
        executor.forEachVector(ofCall: call, body)
    }

    /// Calls `body` with the vectors of a chunk that the weight which it has reached is multiplied with: row-major, one for each
    /// position. They are where the chunk's values are stored.
    /// - Returns: False, without a call, if these values do not have the vectors side by side.
    func withStoredVectors(of chunk: Int, _ body: (UnsafePointer<Float>) throws -> Void) throws -> Bool {
        guard let reached = reached(by: chunk) else { return false }
        let (call, live) = (call(of: reached, chunk: chunk), try live(at: reached)[functionOfChunk[chunk]])
        guard call.operation is any LinearOperator, call.inputs[0].elementType == .float32,
            let range = live.bytes(of: call.inputs[0])
        else { return false }
        return try store.read(chunk, count: live.byteCount) { bytes in
            guard let start = bytes.baseAddress.map({ $0 + range.lowerBound }),
                Int(bitPattern: start).isMultiple(of: MemoryLayout<Float>.alignment)
            else { return false }
            try body(start.assumingMemoryBound(to: Float.self))
            return true
        }
    }

    /// Continues a chunk from a weight, with the values in a store.
    private func run(
        _ chunk: Int, from weight: Int?, _ values: SampleStore, on executor: Executor, to end: Int
    ) throws {
        let function = functionOfChunk[chunk]
        let start = place(of: weight, in: function)
        try executor.start(with: inputs[chunk])
        if let weight {
            let live = try live(at: weight)[function]
            try values.read(chunk, count: live.byteCount) { try executor.restore(live, from: $0) }
        }
        try executor.beginStates(of: start..<end, with: states[chunk])
        for call in start..<end { try executor.step(call) }
    }

    /// - Parameter start: the weight that the chunks begin at; nil for the beginning.
    private func forEachChunk<Result: Sendable>(
        of chunks: [Int], from start: Int?, _ body: (_ chunk: Int, _ lane: Int, _ executor: Executor) throws -> Result
    ) throws -> [Result] {
        // Made before threads ask for them.
        if let start { _ = try live(at: start) }
        // Each lane is used by one thread at a time, and what the body reads of this run does not change meanwhile.
        nonisolated(unsafe) let (run, body) = (self, body)
        let free = Locked(Array(lanes.indices))
        return try Parallel.map(chunks.count, threads: lanes.count) { index in
            let chunk = chunks[index]
            let lane = free.withLock { $0.removeLast() }
            defer { free.withLock { $0.append(lane) } }
            return try body(chunk, lane, run.lanes[lane].executor(of: run.functionOfChunk[chunk]))
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

extension FunctionPlan {
    /// The indices of the weights that some calls read.
    fileprivate func weights(of range: Range<Int>) -> [Int] {
        calls[range].flatMap(\.inputs).compactMap { operand in
            if case .weight(let index) = operand.storage { index } else { nil }
        }
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
