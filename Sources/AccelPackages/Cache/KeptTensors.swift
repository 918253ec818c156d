public import AccelByteIO
public import AccelPrograms
public import AccelTensors
public import AccelWeightCompression

/// The source and the destination of compressed tensors in a conversion:
///
///     let kept = KeptTensors(cache: cache, digests: digests, output: path, model: name)
///     try recipe.compressing(functions, threads: n, stored: kept.stored, reading: kept.reading, store: kept.store)
///
/// Tensors in the cache are encoded from private copies, which `reading` returns, so that the hashed bytes are those
/// that were compressed.
///
/// A large tensor that is missing is claimed until it is stored, so that other processes wait for it instead of
/// computing it, too. A process that holds a claim does not wait, because two such processes could wait for each other.
public final class KeptTensors: Sendable {
    /// The size of a source, in bytes, from which on tensors are claimed.
    private static let claimedBytes = 1 << 18
    private let claims = Locked<[Digest: CacheClaim]>([:])
    private let counter = Locked(Counts())
    /// The keys that a run with a comparison has added: an equal weight of its own is no evidence about earlier results.
    private let added = Locked<Set<Digest>>([])
    /// The keys that a conversion asks the cache server for.
    private let shared = Locked<Set<Digest>>([])

    /// Counts of the weights so far.
    public struct Counts: Equatable, Sendable {
        /// Weights that an earlier run has compressed.
        public var found = 0
        /// The weights among `found` that the cache server has supplied to this run.
        public var received = 0
        /// Weights that this run has compressed.
        public var made = 0
        /// The weights among `made` that are not in the cache, because it cannot be written or there is none.
        public var unkept = 0
    }
    /// The counts of the weights so far.
    public var counts: Counts { counter.withLock { $0 } }

    private let cache: Cache?
    private let comparison: CacheComparison?
    private let digests: ModelDigests?
    private let spill: TensorSpill
    private let model: String
    private let threads: Int

    /// Creates a source of compressed tensors.
    /// - Parameters:
    ///   - digests: the digests of the model's files; nil if nothing is looked up in the cache.
    ///   - draft: the package draft that takes the tensors.
    ///   - comparison: compares new results with cached ones; then everything is computed again.
    ///   - model: the name of the model in listings.
    public init(
        cache: Cache?, digests: ModelDigests?, output: String, draft: PackageDraft? = nil,
        comparedIn comparison: CacheComparison? = nil, model: String, threads: Int = 1
    ) {
        self.threads = threads
        self.comparison = comparison
        self.cache = cache
        self.digests = digests
        self.model = model
        spill = TensorSpill(beside: output, draft: draft)
    }

    /// Fetches these tensors from the cache server, all at once instead of one by one. Small ones are computed faster, and are not sent to it
    /// either. Those whose statistics are not known before a run over samples have no key yet; `stored` fetches them.
    /// - Parameter wanted: the tensors, and the digest of the activation statistics that a codec gets; nil where they are not known.
    public func prefetch(_ wanted: [(source: StoredTensor, codec: any WeightCodec, statistics: Digest?)]) {
        guard let cache, let remote = cache.remote else { return }
        let keys = wanted.filter { $0.source.bytes.count >= Self.claimedBytes }.flatMap { wanted -> [Digest] in
            let (source, codec, statistics) = wanted
            guard codec.method.usesStatistics else { return [key(source, codec, nil)?.digest].compactMap(\.self) }
            guard statistics != nil else { return [] }
            // The codes without the method are kept where they are the better ones.
            return [
                key(source, codec, statistics), key(source, codec.dataFree, statistics),
                key(source, codec.dataFree, nil),
            ]
            .compactMap { $0?.digest }
        }
        let asked = Set(keys)
        shared.withLock { $0.formUnion(asked) }
        guard comparison == nil else { return }
        remote.fetch(asked.filter { (try? cache.folder.record($0)) == nil }.sorted(), into: cache)
    }

    /// Sends the requested tensors that the cache server lacks, including those found in the cache.
    public func share() {
        guard let cache, let remote = cache.remote else { return }
        remote.add(missing: shared.withLock { $0.sorted() }, from: cache.folder)
    }

    /// Returns a private copy of a tensor to be compressed.
    /// - Throws: `RequestError` if its file has changed.
    public func reading(_ source: StoredTensor, threads: Int) throws -> StoredTensor {
        try digests?.copy(of: source, threads: threads) ?? source
    }

    /// Returns a cached encoding without calibration, with its error; nil if there is none.
    public func stored(
        _ source: StoredTensor, _ codec: any WeightCodec
    ) throws -> (CompressedTensor, Distortion)? { try stored(source, codec, nil) }

    /// Stores encodings without calibration, and returns them in memory that the cache or a file provides.
    public func store(_ weights: [MadeWeight]) throws -> [CompressedTensor] {
        if cache == nil {
            counter.withLock {
                $0.made += weights.count
                $0.unkept += weights.count
            }
            return try spill.keep(weights.map(\.tensor))
        }
        // Each is hashed as one stream.
        return try Parallel.map(weights.count, threads: threads) {
            try store(weights[$0].source, weights[$0].tensor, weights[$0].distortion, nil)
        }
    }

    /// Returns a cached encoding with its error; nil if there is none, and then the weight is claimed.
    /// - Parameters:
    ///   - statistics: the digest of the activation statistics that the codec gets.
    ///   - isClaimed: false where processes make a weight together.
    public func stored(
        _ source: StoredTensor, _ codec: any WeightCodec, _ statistics: Digest?, claims isClaimed: Bool = true
    ) throws -> (CompressedTensor, Distortion)? {
        guard comparison == nil, let cache, let key = key(source, codec, statistics) else { return nil }
        func find() -> (CompressedTensor, Distortion)? {
            guard let found = cache.found(cache.tensor(for: key, source: source, codec: codec)) else { return nil }
            digests?.noteFound(source)
            let isReceived = cache.isFromServer(key)
            counter.withLock {
                $0.found += 1
                if isReceived { $0.received += 1 }
            }
            return found
        }
        guard source.bytes.count >= Self.claimedBytes else { return find() }
        if statistics != nil, cache.remote != nil, shared.withLock({ $0.insert(key.digest).inserted }) {
            cache.fetch([key])
        }
        if let found = find() { return found }
        guard isClaimed else { return nil }
        let isFree = claims.withLock(\.isEmpty)
        guard let claim = isFree ? cache.claim(key) : cache.claimIfFree(key) else { return nil }
        // The previous holder of the claim may have stored the tensor.
        if let found = find() { return found }
        claims.withLock { $0[key.digest] = claim }
        return nil
    }

    /// Stores an encoding, and returns it in memory that the cache or a file provides.
    public func store(
        _ source: StoredTensor, _ tensor: CompressedTensor, _ distortion: Distortion, _ statistics: Digest? = nil
    ) throws -> CompressedTensor {
        counter.withLock { $0.made += 1 }
        if let cache, digests?.isConfirmed(source) == true, let key = key(source, tensor.codec, statistics) {
            defer { claims.withLock { _ = $0.removeValue(forKey: key.digest) } }
            if let comparison, !added.withLock({ $0.contains(key.digest) }) {
                if let known = try? cache.tensor(for: key, source: source, codec: tensor.codec).get() {
                    comparison.note(source.name, isSame: known.tensor.sections == tensor.sections)
                    return try spill.keep([tensor])[0]
                }
                comparison.noteMissing()
                added.withLock { _ = $0.insert(key.digest) }
            }
            let isShared = shared.withLock { $0.contains(key.digest) }
            if let kept = cache.store(tensor, distortion, for: key, model: model, isShared: isShared) { return kept }
        }
        counter.withLock { $0.unkept += 1 }
        return try spill.keep([tensor])[0]
    }

    /// Returns the unit of work for a weight; nil if nothing is looked up in the cache.
    /// - Parameter statistics: the digest of the activation statistics that the codec gets.
    public func job(
        _ source: StoredTensor, _ codec: any WeightCodec, _ statistics: Digest? = nil
    ) -> WeightJob? {
        digests.map { WeightJob(source, content: $0.digest(of: source), as: codec, given: statistics) }
    }

    private func key(_ source: StoredTensor, _ codec: any WeightCodec, _ statistics: Digest?) -> CacheKey? {
        job(source, codec, statistics)?.key
    }
}
