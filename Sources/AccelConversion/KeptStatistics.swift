import AccelByteIO
import AccelCalibration
import AccelPackages
import AccelPlatform
import AccelTensors
import AccelWeightCompression

/// Activation statistics of earlier conversions of the same model with the same samples, in the cache.
///
/// A run reads the weights from mapped files, which another process may change meanwhile. Its statistics are therefore
/// published only after `publish`, when the files are known to have matched the key all along.
final class KeptStatistics: StatisticsMemory, Sendable {
    private let cache: Cache
    private let digests: ModelDigests
    private let sources: [Provenance.Source]
    private let samples: Digest
    private let family: String
    private let model: String
    private let pending = PendingRecords()

    /// nil without a cache, without samples, or if the digests of the model's files are not known.
    init?(_ cache: Cache?, _ digests: ModelDigests?, samples: SampleFile?, family: String, model: String) {
        guard let cache, let digests, let samples else { return nil }
        (self.cache, self.digests, sources, self.model) = (cache, digests, digests.sources, model)
        self.samples = samples.digest
        self.family = family
    }

    private func key(_ location: StatisticsLocation, _ entry: String? = nil) -> CacheKey {
        CacheKey(
            statisticsOf: location.weight, samples: samples, part: location.part, before: location.before,
            sources: sources, family: family, entry: entry)
    }

    private func build(_ location: StatisticsLocation) -> CachedBuild<StatisticsResult> {
        CachedBuild(
            StatisticsResult(weight: location.weight, model: model, pending: pending), as: key(location), in: cache)
    }

    func statistics(at location: StatisticsLocation) -> ActivationStatistics? { try? build(location).find() }

    func keep(_ statistics: ActivationStatistics, at location: StatisticsLocation) throws {
        try build(location).store(statistics)
    }

    func content(of entry: String, at location: StatisticsLocation) -> ByteView? {
        cache.found(cache.statistics(for: key(location, entry)))
    }

    /// The same memory for one of several shares of a conversion.
    /// - Parameter check: throws if the share is to stop.
    func shared(by share: WeightShard, check: @escaping @Sendable () throws -> Void) -> any SharedStatisticsMemory {
        Shared(kept: self, number: share.number - 1, count: share.count, check: check)
    }

    /// Entries that other shares wait for are published at once, after a check that the model's files seem to be the same.
    private struct Shared: SharedStatisticsMemory {
        let kept: KeptStatistics
        let number, count: Int
        let check: @Sendable () throws -> Void
        var share: (number: Int, count: Int) { (number, count) }
        var isNear: Bool { !kept.cache.hasServer }

        func statistics(at location: StatisticsLocation) -> ActivationStatistics? {
            kept.cache.present(statistics: [kept.key(location)]).isEmpty ? nil : kept.statistics(at: location)
        }

        func keep(_ statistics: ActivationStatistics, at location: StatisticsLocation) throws {
            try keep(StatisticsFile.parts([location.weight: statistics]), as: kept.key(location))
        }

        func present(_ entries: [String], at location: StatisticsLocation) -> Set<String> {
            let keys = entries.map { kept.key(location, $0) }
            let found = Set(kept.cache.present(statistics: keys))
            return Set(zip(entries, keys).filter { found.contains($1) }.map(\.0))
        }

        func content(of entry: String, at location: StatisticsLocation) -> ByteView? {
            present([entry], at: location).isEmpty ? nil : kept.content(of: entry, at: location)
        }

        func keep(_ content: [ByteView], as entry: String, at location: StatisticsLocation) throws {
            try keep(content, as: kept.key(location, entry))
        }

        private func keep(_ content: [ByteView], as key: CacheKey) throws {
            try kept.digests.requireSameFiles()
            guard let record = kept.cache.put(statistics: content, for: key, model: kept.model) else {
                throw RequestError(
                    "sums over samples could not be kept in the cache at \(kept.cache.root), where shares meet",
                    status: .unavailable)
            }
            kept.cache.publishAtOnce(record)
        }

        func remove(_ entry: String, at location: StatisticsLocation) {
            kept.cache.removeStatistics(for: kept.key(location, entry))
        }

        func claim(_ entry: String?, at location: StatisticsLocation) -> (any Sendable)? {
            kept.cache.claimIfFree(kept.key(location, entry))
        }

        func wait() throws {
            try check()
            usleep(kept.cache.hasServer ? 1_000_000 : 5_000)
        }
    }

    /// Publishes the pending statistics. Call it after `ModelDigests.requireUnchanged` has returned.
    func publish() { pending.publish(in: cache) }
}

/// Unpublished records by the digest of their key.
private final class PendingRecords: Sendable {
    private let records = Locked<[Digest: CacheRecord]>([:])

    subscript(key: CacheKey) -> CacheRecord? { records.withLock { $0[key.digest] } }
    func add(_ record: CacheRecord) { records.withLock { $0[record.key.digest] = record } }
    func publish(in cache: Cache) {
        for record in records.withLock({ $0.values.sorted { $0.key.digest < $1.key.digest } }) { cache.publish(record) }
    }
}

/// The activation statistics of one weight.
private struct StatisticsResult: CachedResult {
    let weight: String
    let model: String
    let pending: PendingRecords

    func find(_ key: CacheKey, in cache: Cache) -> ActivationStatistics? {
        let path = "statistics \(key.digest)"
        guard let content = cache.found(cache.statistics(for: key, pending: pending[key])),
            // A corrupt entry counts as a miss.
            let file = try? SafetensorsFile(content, file: path)
        else { return nil }
        return try? StatisticsFile.read(file, path: path)[weight]
    }

    func store(_ statistics: ActivationStatistics, as key: CacheKey, in cache: Cache) throws {
        let parts = try StatisticsFile.parts([weight: statistics])
        cache.put(statistics: parts, for: key, model: model).map(pending.add)
    }
}
