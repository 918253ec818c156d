import AccelByteIO
public import AccelTensors
public import AccelWeightCompression

/// A weight that was compressed in this conversion, not taken from a cache.
public struct MadeWeight: Sendable {
    /// The original weight.
    public let source: StoredTensor
    /// Its encoding.
    public let tensor: CompressedTensor
    /// The error of the encoding against the original weight.
    public let distortion: Distortion

    /// Creates a compressed weight.
    public init(source: StoredTensor, tensor: CompressedTensor, distortion: Distortion) {
        (self.source, self.tensor, self.distortion) = (source, tensor, distortion)
    }
}

/// A weight of a batch that `store` has not taken yet.
private struct PendingWeight: Sendable {
    let planned: PlannedWeight
    let made: MadeWeight
    /// The encoding was found by `stored`, so it need not be stored again.
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
    /// Compresses these weights, each once. Threads share the tensors of a batch, the largest first, and the units of
    /// each tensor; the result does not depend on the number of threads.
    /// - Parameters:
    ///   - stored: finds an existing encoding, such as one in a cache; nil if the weight has to be compressed.
    ///   - reading: returns the tensor to compress for a weight: the tensor itself, or a copy of it.
    ///   - store: takes compressed weights, and may return them in other memory (a mapped file of the cache), in the
    ///     same order, so that memory does not grow with the model. Called while the next weights are compressed.
    ///   - calibrating: compresses the weights whose codecs support calibration, by name, after the others are stored.
    ///     Weights that it leaves out are compressed without calibration.
    ///   - progress: called on the calling thread for each weight when it is encoded, with whether `stored` found it:
    ///     those of a batch in the order in which they are done. `calibrating` reports the progress of its own weights.
    /// - Returns: The weights, sorted by name.
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
                // Equal weights are stored first, so that the second is found instead of compressed again. Large
                // tensors are stored first, so that two batches of them are not in memory together.
                let hasEqual = batch.contains { new in pending.contains { $0.planned.isEqual(to: new) } }
                if hasEqual || pending.byteCount > Self.overlappedBytes {
                    weights += try pending.stored(by: store)
                    pending = []
                }
                let found = try batch.map { try stored($0.source, $0.choice.codec) }
                let waiting = pending
                let (made, before) = try Parallel.alongside(threads: threads, { try waiting.stored(by: store) }) {
                    try Self.made(batch, found, reading: reading, threads: threads, progress: progress)
                }
                weights += before
                pending = batch.indices.map {
                    PendingWeight(planned: batch[$0], made: made[$0], isStored: found[$0] != nil)
                }
            }
            weights += try pending.stored(by: store)
        }
        try compress(filter { !$0.choice.codec.method.usesStatistics })
        let wanting = filter { $0.choice.codec.method.usesStatistics }
        if !wanting.isEmpty {
            let made = try calibrating(wanting, weights.map(\.tensor))
            weights += wanting.compactMap { made[$0.source.name] }
            try compress(wanting.filter { made[$0.source.name] == nil }.map(\.withoutStatistics))
        }
        weights.sort { $0.tensor.name < $1.tensor.name }
        return weights
    }

    /// Pending weights above this size are stored before the next batch is compressed, not at the same time.
    private static var overlappedBytes: Int { 128 << 20 }

    /// Compresses the weights of a batch that are not in `found`, and reports each when it is done.
    private static func made(
        _ batch: [PlannedWeight], _ found: [(CompressedTensor, Distortion)?],
        reading: @Sendable (StoredTensor, _ threads: Int) throws -> StoredTensor, threads: Int,
        progress: (_ tensor: StoredTensor, _ isFound: Bool) throws -> Void
    ) throws -> [MadeWeight] {
        for index in batch.indices where found[index] != nil { try progress(batch[index].source, true) }
        let largestFirst = batch.indices.filter { found[$0] == nil }.sorted {
            (batch[$1].source.shape.count, $0) < (batch[$0].source.shape.count, $1)
        }
        let compressed = try Parallel.map(
            largestFirst.count, threads: threads,
            reporting: { try progress(batch[largestFirst[$0]].source, false) }
        ) { position in
            let planned = batch[largestFirst[position]]
            return try CompressedTensor.compressing(
                reading(planned.source, threads), with: planned.choice.codec, threads: threads)
        }
        var encoded = found
        for (index, result) in zip(largestFirst, compressed) { encoded[index] = (result.tensor, result.distortion) }
        return zip(batch, encoded).compactMap { planned, result in
            result.map { MadeWeight(source: planned.source, tensor: $0.0, distortion: $0.1) }
        }
    }

    /// Cuts the weights into batches in the order of their names, which is the order of a package. A batch has a
    /// limited size, so that memory does not depend on the model's size. Of two equal tensors, the second is in a later
    /// batch, when the first is stored already.
    private static func batches(_ plan: [PlannedWeight]) -> [[PlannedWeight]] {
        var batches: [[PlannedWeight]] = []
        var remaining = 0
        for planned in plan {
            let weight = planned.source.shape.count
            if remaining < weight || batches.last?.contains(where: { $0.isEqual(to: planned) }) ?? true {
                batches.append([])
                remaining = Swift.max(1 << 25, weight)
            }
            batches[batches.count - 1].append(planned)
            remaining -= weight
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

    /// Equal elements with an equal codec, so that the encodings are equal.
    fileprivate func isEqual(to other: PlannedWeight) -> Bool {
        source.elementType == other.source.elementType && source.shape == other.source.shape
            && choice.codec.values == other.choice.codec.values && source.bytes == other.source.bytes
    }
}
