import ByteIO
public import Tensors
public import WeightCompression

/// A weight as it is stored, with what the coverage table says of it.
public struct CompressedWeight: Sendable {
    public var tensor: CompressedTensor
    public let distortion: Distortion
    /// Why it is not stored as the recipe's codec would; nil when it is.
    public let reason: String?
    /// The operators that read it.
    public let readers: [String]

    public init(tensor: CompressedTensor, distortion: Distortion, reason: String? = nil, readers: [String]) {
        (self.tensor, self.distortion, self.reason, self.readers) = (tensor, distortion, reason, readers)
    }
}

/// Frozen functions that share one set of stored weights.
public struct CompressedProgram: Sendable {
    public let functions: [FrozenProgram]
    /// Sorted by name; each is read by at least one function.
    public let weights: [CompressedWeight]

    public init(functions: [FrozenProgram], weights: [CompressedWeight]) {
        self.functions = functions
        self.weights = weights
    }
}

/// A weight that functions read, and how a recipe wants it stored.
public struct PlannedWeight: Sendable {
    public let source: StoredTensor
    /// The operators that read it.
    public let readers: [String]
    public let choice: Recipe.Choice

    public init(source: StoredTensor, readers: [String], choice: Recipe.Choice) {
        (self.source, self.readers, self.choice) = (source, readers, choice)
    }
}

extension Recipe {
    /// How every weight that `functions` read will be stored; each once, sorted by name.
    public func plan(for functions: [FrozenProgram]) -> [PlannedWeight] {
        var readers: [String: [String]] = [:]
        var sources: [String: StoredTensor] = [:]
        for function in functions {
            for (name, operators) in function.program.constantReaders {
                for reader in operators where !readers[name, default: []].contains(reader) {
                    readers[name, default: []].append(reader)
                }
            }
            for constant in function.program.constants where constant.isWeight {
                sources[constant.tensor.name] = constant.tensor
            }
        }
        return sources.sorted { $0.key < $1.key }.map { name, source in
            let readers = readers[name] ?? []
            return PlannedWeight(source: source, readers: readers, choice: choice(for: source, readBy: readers))
        }
    }

    /// Stores every weight that `functions` read, each once. Threads share out the tensors of a batch, the largest first,
    /// and the units of each tensor; the result does not depend on how many there are.
    /// - Parameters:
    ///   - store: takes each finished weight, and may return the same one kept elsewhere (a cached file), so that
    ///     memory does not grow with the model. `nil` from `stored` means: not there yet, compress it.
    ///   - calibrating: makes the weights whose codecs want to know their inputs, by name, once the others are stored.
    ///     One that it leaves out is stored without.
    public func compressing(
        _ functions: [FrozenProgram], threads: Int,
        stored: (StoredTensor, any WeightCodec) throws -> (CompressedTensor, Distortion)? = { _, _ in nil },
        store: (StoredTensor, CompressedTensor, Distortion) throws -> CompressedTensor = { _, tensor, _ in tensor },
        calibrating: ([PlannedWeight], _ stored: [CompressedTensor]) throws -> [String: CompressedWeight] = { _, _ in
            [:]
        },
        progress: (_ tensor: StoredTensor) throws -> Void = { _ in }
    ) throws -> CompressedProgram {
        let plan = plan(for: functions)
        var weights: [CompressedWeight] = []
        func compress(_ plan: [PlannedWeight]) throws {
            for batch in Self.batches(plan) {
                let found = try batch.map { try stored($0.source, $0.choice.codec) }
                let largestFirst = batch.indices.sorted {
                    (batch[$1].source.shape.count, $0) < (batch[$0].source.shape.count, $1)
                }
                let unordered = try Parallel.map(batch.count, threads: threads) { place in
                    let index = largestFirst[place]
                    return try found[index]
                        ?? CompressedTensor.compressing(
                            batch[index].source, with: batch[index].choice.codec, threads: threads)
                }
                let made = zip(largestFirst, unordered).sorted { $0.0 < $1.0 }.map(\.1)
                for (index, planned) in batch.enumerated() {
                    try progress(planned.source)
                    var (tensor, distortion) = made[index]
                    if found[index] == nil { tensor = try store(planned.source, tensor, distortion) }
                    weights.append(
                        CompressedWeight(
                            tensor: tensor, distortion: distortion, reason: planned.choice.reason,
                            readers: planned.readers)
                    )
                }
            }
        }
        try compress(plan.filter { $0.choice.codec.method == .nearest })
        let wanting = plan.filter { $0.choice.codec.method != .nearest }
        if !wanting.isEmpty {
            let made = try calibrating(wanting, weights.map(\.tensor))
            weights += wanting.compactMap { made[$0.source.name] }
            try compress(wanting.filter { made[$0.source.name] == nil }.map(\.withoutStatistics))
        }
        weights.sort { $0.tensor.name < $1.tensor.name }
        return CompressedProgram(functions: functions, weights: weights)
    }

    /// The weights by their names, so that a package can be written in its order, cut so that a batch in memory stays small
    /// whatever the model's size, and so that of equal tensors the second comes in a later batch, when the first is stored.
    private static func batches(_ plan: [PlannedWeight]) -> [[PlannedWeight]] {
        var batches: [[PlannedWeight]] = []
        var room = 0
        for planned in plan {
            let count = planned.source.shape.count
            if room < count || batches.last?.contains(where: { $0.isEqual(to: planned) }) ?? true {
                batches.append([])
                room = max(1 << 25, count)
            }
            batches[batches.count - 1].append(planned)
            room -= count
        }
        return batches
    }
}

extension PlannedWeight {
    fileprivate var withoutStatistics: PlannedWeight {
        PlannedWeight(
            source: source, readers: readers,
            choice: Recipe.Choice(codec: choice.codec.dataFree, reason: choice.reason))
    }

    /// The same values stored the same way.
    fileprivate func isEqual(to other: PlannedWeight) -> Bool {
        source.elementType == other.source.elementType && source.shape == other.source.shape
            && choice.codec.values == other.choice.codec.values && source.bytes == other.source.bytes
    }
}
