import AccelByteIO
import AccelCalibration
import AccelPackages
import AccelTensors
import AccelWeightCompression

/// Statistics of earlier conversions of the same model with the same samples, in the cache.
///
/// A run reads the weights where they are mapped. So others find what it tells only after `publish`, once the files are known
/// to have been those of the key all the time.
final class KeptStatistics: StatisticsMemory, Sendable {
    private let cache: Cache
    private let sources: [Provenance.Source]
    private let samples: Digest
    private let model: String
    private let pending = Locked<[Digest: CacheRecord]>([:])

    /// nil without a cache, or where nothing is known of the model's files.
    init?(_ cache: Cache?, _ digests: ModelDigests?, samples: SampleFile?, model: String) {
        guard let cache, let digests, let samples else { return nil }
        (self.cache, sources, self.model) = (cache, digests.sources, model)
        self.samples = samples.digest
    }

    private func key(_ place: StatisticsPlace) -> CacheKey {
        CacheKey(
            statisticsOf: place.weight, samples: samples, part: place.part, before: place.before, sources: sources)
    }

    func statistics(at place: StatisticsPlace) -> ActivationStatistics? {
        let key = key(place)
        guard let content = try? cache.statistics(for: key, pending: pending.withLock { $0[key.digest] }).get(),
            // What cannot be read is found anew.
            let file = try? SafetensorsFile(content, file: "statistics \(key.digest)")
        else { return nil }
        return try? StatisticsFile.read(file, path: "statistics \(key.digest)")[place.weight]
    }

    func keep(_ statistics: ActivationStatistics, at place: StatisticsPlace) throws {
        let key = key(place)
        guard
            let record = cache.put(
                statistics: try StatisticsFile.parts([place.weight: statistics]), for: key, model: model)
        else { return }
        pending.withLock { $0[key.digest] = record }
    }

    /// Call it once `ModelDigests.requireUnchanged` has returned.
    func publish() {
        for record in pending.withLock({ $0.values.sorted { $0.key.digest < $1.key.digest } }) { cache.publish(record) }
    }
}
