import AccelByteIO
public import AccelTensors
public import AccelWeightCompression

/// A weight that has just been compressed.
public struct MadeWeight: Sendable {
    public let source: StoredTensor
    public let tensor: CompressedTensor
    public let distortion: Distortion

    public init(source: StoredTensor, tensor: CompressedTensor, distortion: Distortion) {
        (self.source, self.tensor, self.distortion) = (source, tensor, distortion)
    }
}

/// A weight of a batch that is not kept yet.
private struct PendingWeight: Sendable {
    let planned: PlannedWeight
    let made: MadeWeight
    /// It was found, not made.
    let isStored: Bool
}

extension [PendingWeight] {
    fileprivate var byteCount: Int { reduce(0) { $0 + $1.made.tensor.byteCount } }

    fileprivate func stored(by store: ([MadeWeight]) throws -> [CompressedTensor]) throws -> [CompressedWeight] {
        var kept = try store(filter { !$0.isStored }.map(\.made))[...]
        return map { weight in
            CompressedWeight(
                tensor: weight.isStored ? weight.made.tensor : kept.popFirst() ?? weight.made.tensor,
                distortion: weight.made.distortion, reason: weight.planned.choice.reason,
                readers: weight.planned.readers)
        }
    }
}

extension [PlannedWeight] {
    /// Stores these weights, each once. Threads share out the tensors of a batch, the largest first,
    /// and the units of each tensor; the result does not depend on how many there are.
    /// - Parameters:
    ///   - stored: finds a weight that is there already; nil: compress it.
    ///   - reading: gives what is compressed in place of a weight: the same tensor, perhaps a copy of it.
    ///   - store: takes finished weights, and may return the same ones kept elsewhere (a cached file), in their order, so
    ///     that memory does not grow with the model. Called while the next weights are being made.
    ///   - calibrating: makes the weights whose codecs want to know their inputs, by name, once the others are stored.
    ///     One that it leaves out is stored without.
    ///   - progress: is told of each weight once it is there, and whether it was found. Weights that `calibrating` makes are
    ///     for that to tell of.
    /// - Returns: the weights, sorted by name.
    public func compressing(
        threads: Int,
        stored: (StoredTensor, any WeightCodec) throws -> (CompressedTensor, Distortion)? = { _, _ in nil },
        reading: @Sendable (StoredTensor, _ threads: Int) throws -> StoredTensor = { source, _ in source },
        store: @Sendable ([MadeWeight]) throws -> [CompressedTensor] = { $0.map(\.tensor) },
        calibrating: ([PlannedWeight], _ stored: [CompressedTensor]) throws -> [String: CompressedWeight] = { _, _ in
            [:]
        },
        progress: (_ tensor: StoredTensor, _ isFound: Bool) throws -> Void = { _, _ in }
    ) throws -> [CompressedWeight] {
        var weights: [CompressedWeight] = []
        func compress(_ plan: [PlannedWeight]) throws {
            var pending: [PendingWeight] = []
            for batch in Self.batches(plan) {
                // What is stored already can be found instead of being made again; and large tensors take turns in memory.
                let hasEqual = batch.contains { new in pending.contains { $0.planned.isEqual(to: new) } }
                if hasEqual || pending.byteCount > Self.overlappedBytes {
                    weights += try pending.stored(by: store)
                    pending = []
                }
                let found = try batch.map { try stored($0.source, $0.choice.codec) }
                let waiting = pending
                let (made, before) = try Parallel.alongside(threads: threads, { try waiting.stored(by: store) }) {
                    try Self.made(batch, found, reading: reading, threads: threads)
                }
                weights += before
                pending = batch.indices.map {
                    PendingWeight(planned: batch[$0], made: made[$0], isStored: found[$0] != nil)
                }
                for (planned, found) in zip(batch, found) { try progress(planned.source, found != nil) }
            }
            weights += try pending.stored(by: store)
        }
        try compress(filter { !$0.choice.codec.method.isToldOfInputs })
        let wanting = filter { $0.choice.codec.method.isToldOfInputs }
        if !wanting.isEmpty {
            let made = try calibrating(wanting, weights.map(\.tensor))
            weights += wanting.compactMap { made[$0.source.name] }
            try compress(wanting.filter { made[$0.source.name] == nil }.map(\.withoutStatistics))
        }
        weights.sort { $0.tensor.name < $1.tensor.name }
        return weights
    }

    /// More than this is stored before the next weights are made, not beside them.
    private static var overlappedBytes: Int { 128 << 20 }

    /// Compresses the weights of a batch that are not among the `found`.
    private static func made(
        _ batch: [PlannedWeight], _ found: [(CompressedTensor, Distortion)?],
        reading: @Sendable (StoredTensor, _ threads: Int) throws -> StoredTensor, threads: Int
    ) throws -> [MadeWeight] {
        let largestFirst = batch.indices.sorted {
            (batch[$1].source.shape.count, $0) < (batch[$0].source.shape.count, $1)
        }
        let unordered = try Parallel.map(batch.count, threads: threads) { place in
            let index = largestFirst[place]
            let (tensor, distortion) =
                try found[index]
                ?? CompressedTensor.compressing(
                    reading(batch[index].source, threads), with: batch[index].choice.codec, threads: threads)
            return MadeWeight(source: batch[index].source, tensor: tensor, distortion: distortion)
        }
        return zip(largestFirst, unordered).sorted { $0.0 < $1.0 }.map(\.1)
    }

    /// The weights by their names, so that a package can be written in its order, cut so that a batch in memory stays small
    /// whatever the model's size, and so that of equal tensors the second comes in a later batch, when the first is stored.
    private static func batches(_ plan: [PlannedWeight]) -> [[PlannedWeight]] {
        var batches: [[PlannedWeight]] = []
        var room = 0
        for planned in plan {
            let weight = planned.source.shape.count
            if room < weight || batches.last?.contains(where: { $0.isEqual(to: planned) }) ?? true {
                batches.append([])
                room = Swift.max(1 << 25, weight)
            }
            batches[batches.count - 1].append(planned)
            room -= weight
        }
        return batches
    }
}

extension PlannedWeight {
    fileprivate var withoutStatistics: PlannedWeight {
        PlannedWeight(
            source: source, readers: readers,
            choice: Recipe.Choice(codec: choice.codec.dataFree, reason: choice.reason, rule: choice.rule))
    }

    /// The same values stored the same way.
    fileprivate func isEqual(to other: PlannedWeight) -> Bool {
        source.elementType == other.source.elementType && source.shape == other.source.shape
            && choice.codec.values == other.choice.codec.values && source.bytes == other.source.bytes
    }
}
