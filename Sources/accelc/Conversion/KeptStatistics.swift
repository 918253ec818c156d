import ByteIO
import Calibration
import Packages
import Tensors
import WeightCompression

/// Statistics of earlier conversions of the same model with the same samples, in the cache.
struct KeptStatistics: StatisticsMemory {
    private let cache: Cache
    private let sources: [Provenance.Source]
    private let samples: Digest
    private let model: String

    /// nil without a cache, or where nothing is known of the model's files.
    init?(_ cache: Cache?, _ digests: ModelDigests?, samples: String?, model: String) throws {
        guard let cache, let digests, let samples else { return nil }
        (self.cache, sources, self.model) = (cache, digests.sources, model)
        self.samples = TreeDigest.digest(of: try MappedFile(samples).bytes)
    }

    private func key(_ place: StatisticsPlace) -> CacheKey {
        CacheKey(
            statisticsOf: place.weight, samples: samples, part: place.part, before: place.before, sources: sources)
    }

    func statistics(at place: StatisticsPlace) -> ActivationStatistics? {
        let key = key(place)
        guard case .success(let content) = cache.statistics(for: key),
            // What cannot be read is found anew.
            let file = try? SafetensorsFile(content, file: "statistics \(key.digest)")
        else { return nil }
        return try? StatisticsFile.read(file, path: "statistics \(key.digest)")[place.weight]
    }

    func keep(_ statistics: ActivationStatistics, at place: StatisticsPlace) throws {
        cache.store(
            statistics: try StatisticsFile.parts([place.weight: statistics]), for: key(place), model: model)
    }
}
