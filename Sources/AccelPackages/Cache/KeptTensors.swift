public import AccelByteIO
public import AccelPrograms
public import AccelTensors
public import AccelWeightCompression

/// Where a conversion finds compressed tensors, and where it puts them:
///
///     let kept = KeptTensors(cache: cache, digests: digests, output: path, model: name)
///     try recipe.compressing(functions, threads: n, stored: kept.stored, reading: kept.reading, store: kept.store)
///
/// What is kept in the cache is made of copies, which `reading` gives: what was hashed is what was compressed.
///
/// A large tensor that is not there is claimed until it is stored, so that other processes take it over instead of making
/// it too. Nobody waits who holds a claim himself: two could wait for each other.
public final class KeptTensors: Sendable {
    /// The bytes of a source from which on waiting may be worth it.
    private static let claimedBytes = 1 << 18
    private let claims = Locked<[Digest: CacheClaim]>([:])
    private let counter = Locked(Counts())

    /// What became of the weights so far.
    public struct Counts: Equatable, Sendable {
        /// Another run had made them.
        public var found = 0
        public var made = 0
        /// Of those that were made, those that the cache did not take: it cannot be written, or there is none.
        public var unkept = 0
    }
    public var counts: Counts { counter.withLock { $0 } }

    private let cache: Cache?
    private let comparison: CacheComparison?
    private let digests: ModelDigests?
    private let spill: TensorSpill
    private let model: String
    private let threads: Int

    /// - Parameters:
    ///   - digests: of the model's files; nil: nothing is looked up in the cache.
    ///   - draft: the package that is being made of the tensors.
    ///   - comparison: gets told whether what is made is what is kept; everything is made anew then.
    ///   - model: what lists call the model.
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

    /// Brings what a server has of these tensors into the cache: in one go, rather than one by one.
    public func prefetch(_ wanted: [(source: StoredTensor, codec: any WeightCodec)]) {
        guard let cache, let remote = cache.remote, comparison == nil else { return }
        let keys = wanted.filter { $0.source.bytes.count >= Self.claimedBytes && !$0.codec.method.isToldOfInputs }
            .compactMap { key($0.source, $0.codec, nil)?.digest }
        remote.fetch(Set(keys).filter { (try? cache.folder.record($0)) == nil }.sorted(), into: cache)
    }

    /// A tensor to be compressed, in memory of its own.
    /// - Throws: `RequestError` when its file has changed.
    public func reading(_ source: StoredTensor, threads: Int) throws -> StoredTensor {
        try digests?.copy(of: source, threads: threads) ?? source
    }

    public func stored(
        _ source: StoredTensor, _ codec: any WeightCodec
    ) throws -> (CompressedTensor, Distortion)? { try stored(source, codec, nil) }

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

    /// - Parameter statistics: digest of what the codec is told of the weight's inputs.
    public func stored(
        _ source: StoredTensor, _ codec: any WeightCodec, _ statistics: Digest?
    ) throws -> (CompressedTensor, Distortion)? {
        guard comparison == nil, let cache, let key = key(source, codec, statistics) else { return nil }
        func find() -> (CompressedTensor, Distortion)? {
            guard let found = try? cache.tensor(for: key, source: source, codec: codec).get() else { return nil }
            digests?.noteFound(source)
            counter.withLock { $0.found += 1 }
            return found
        }
        if let found = find() { return found }
        guard source.bytes.count >= Self.claimedBytes else { return nil }
        let isFree = claims.withLock(\.isEmpty)
        guard let claim = isFree ? cache.claim(key) : cache.claimAtOnce(key) else { return nil }
        // Whoever had it before may have stored the tensor since.
        if let found = find() { return found }
        claims.withLock { $0[key.digest] = claim }
        return nil
    }

    public func store(
        _ source: StoredTensor, _ tensor: CompressedTensor, _ distortion: Distortion, _ statistics: Digest? = nil
    ) throws -> CompressedTensor {
        counter.withLock { $0.made += 1 }
        if let cache, digests?.isConfirmed(source) == true, let key = key(source, tensor.codec, statistics) {
            defer { claims.withLock { _ = $0.removeValue(forKey: key.digest) } }
            if let comparison, let known = try? cache.tensor(for: key, source: source, codec: tensor.codec).get() {
                comparison.note(source.name, isSame: known.tensor.sections == tensor.sections)
                return try spill.keep([tensor])[0]
            }
            if let kept = cache.store(tensor, distortion, for: key, model: model) { return kept }
        }
        counter.withLock { $0.unkept += 1 }
        return try spill.keep([tensor])[0]
    }

    /// What is to be done for a weight; nil where nothing is looked up in the cache.
    /// - Parameter statistics: digest of what the codec is told of the weight's inputs.
    public func job(
        _ source: StoredTensor, _ codec: any WeightCodec, _ statistics: Digest? = nil
    ) -> WeightJob? {
        digests.map { WeightJob(source, content: $0.digest(of: source), as: codec, given: statistics) }
    }

    private func key(_ source: StoredTensor, _ codec: any WeightCodec, _ statistics: Digest?) -> CacheKey? {
        job(source, codec, statistics)?.key
    }
}
