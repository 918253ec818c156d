import AccelByteIO
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// What one share of a conversion has done.
public struct ConvertedShard: Sendable {
    public let shard: WeightShard
    /// The jobs of all shares, then those of this one, with the bytes of their values before compression.
    public let jobs: Int
    public let bytes: Int
    public let ownJobs: Int
    public let ownBytes: Int
    public let weights: WeightCounts
    /// Weights that no share makes: their codes depend on other weights, or on a run over samples.
    public let left: Int
}

extension Conversion {
    /// Makes one share of the weights on a thread of its own.
    public func run(
        _ shard: WeightShard, _ settings: ConversionSettings
    ) -> Work<ConvertedShard, ConversionEvent> {
        Work(settings.cancellation) { emit in try convert(shard, settings, emit: emit) }
    }

    /// Makes one share of the weights and keeps them in the cache, where a conversion without a shard finds them. No package
    /// is made. What was kept before an end that came early is kept.
    /// - Throws: `RequestError` without a cache that can be written, and with a target, whose schemes are one choice for
    ///   all weights; else as a conversion.
    public func convert(
        _ shard: WeightShard, _ settings: ConversionSettings, emit: (ConversionEvent) -> Void = { _ in }
    ) throws -> ConvertedShard {
        guard let cache = settings.cache else {
            throw RequestError("shard \(shard): shares of a conversion meet in the cache, and there is none")
        }
        guard target == nil else {
            throw RequestError(
                "shard \(shard): a target chooses schemes for all weights at once; convert with the recipe of its plan instead"
            )
        }
        var model = try RequestedModel(self, writing: nil, settings)
        model.warnings.map(ConversionEvent.warning).forEach(emit)
        let digests = try model.source.digests(cache: cache, threads: settings.threads)
        let memory = model.statistics(in: cache, digests)
        try model.scaleChannels(remembering: memory)
        let kept = KeptTensors(
            cache: cache, digests: digests, output: try cache.workPath(), model: self.model, threads: settings.threads)
        let (independent, left) = model.independent
        let jobs = independent.compactMap { kept.job($0.weight.source, $0.weight.choice.codec, $0.statistics) }
        let own = shard.share(of: jobs)
        let names = Set(own.map(\.source.name))
        let plan = independent.map(\.weight).filter { names.contains($0.source.name) }
        _ = try model.compressed(plan, keptIn: kept, remembering: memory, digests: digests, emit: emit)
        // Each result was made of a copy that has the digest of its key; statistics were made of all files.
        if memory != nil { try model.finish(digests, memory) }
        cache.finish()
        guard kept.counts.unkept == 0 else {
            throw RequestError(
                "shard \(shard): \(Wording.count(kept.counts.unkept, "weight")) could not be kept in the cache at "
                    + "\(cache.root); make it one that can be written", status: .unavailable)
        }
        let all = try WeightShard(1, of: 1).share(of: jobs)
        return ConvertedShard(
            shard: shard, jobs: all.count, bytes: all.reduce(0) { $0 + $1.byteCount }, ownJobs: own.count,
            ownBytes: own.reduce(0) { $0 + $1.byteCount }, weights: WeightCounts(kept), left: left)
    }
}
