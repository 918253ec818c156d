import AccelByteIO
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The result of one shard of a conversion.
public struct ConvertedShard: Sendable {
    /// The shard that was converted.
    public let shard: WeightShard
    /// Number of jobs of all shards together.
    public let jobs: Int
    /// Bytes of the weights of all shards, before compression.
    public let bytes: Int
    /// Number of jobs of this shard.
    public let ownJobs: Int
    /// Bytes of the weights of this shard, before compression.
    public let ownBytes: Int
    /// Weights of this shard that were found in the cache and that were compressed.
    public let weights: WeightCounts
    /// The weights with calibration, which all shards make together: those that other shards have made, or this one.
    public let calibrated: WeightCounts
}

extension Conversion {
    /// Compresses one shard of the weights on a thread of its own.
    public func run(
        _ shard: WeightShard, _ settings: ConversionSettings
    ) -> Work<ConvertedShard, ConversionEvent> {
        Work(settings.cancellation) { emit in try convert(shard, settings, emit: emit) }
    }

    /// Compresses one shard of the weights into the cache, where a later conversion of the whole model finds them. No package
    /// is made. Weights that were stored before a failure or a cancellation stay in the cache.
    /// - Parameter emit: receives the events, on the calling thread.
    /// - Throws: `RequestError` without a writable cache, and with a target, which chooses schemes for all weights at once;
    ///   else as a conversion.
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
        let planned = try planned(settings)
        try planned.warnings().forEach { emit(.warning($0)) }
        var run = try ConversionRun(planned, settings)
        let scaled = try run.scaled(emit: emit)
        let kept = run.kept(beside: try cache.workPath())
        let (independent, left) = scaled.planned.independent
        let jobs = independent.compactMap { kept.job($0.weight.source, $0.weight.choice.codec, $0.statistics) }
        let own = shard.share(of: jobs)
        let names = Set(own.map(\.source.name))
        let plan = independent.map(\.weight).filter { names.contains($0.source.name) }
        _ = try run.weights(plan, of: scaled, keptIn: kept, emit: emit)
        var calibrated = WeightCounts()
        let common = run.kept(beside: try cache.workPath())
        if left > 0 {
            run.share = shard
            let others = Set(independent.map(\.weight.source.name))
            _ = try run.weights(scaled.planned.plan, of: scaled, keptIn: common) { event in
                if event.kind == .weight, !others.contains(event.text) {
                    if event.cache == .hit { calibrated.found += 1 } else { calibrated.made += 1 }
                }
                emit(event)
            }
        }
        // Each weight was compressed from a copy that matches its key's digest. Statistics depend on all files, so check those.
        if scaled.memory != nil { try run.requireUnchanged(scaled) }
        for kept in [kept, common] { kept.share() }
        cache.finish()
        let unkept = kept.counts.unkept + common.counts.unkept
        guard unkept == 0 else {
            throw RequestError(
                "shard \(shard): \(Wording.count(unkept, "weight")) could not be kept in the cache at "
                    + "\(cache.root); make it one that can be written", status: .unavailable)
        }
        let all = try WeightShard(1, of: 1).share(of: jobs)
        return ConvertedShard(
            shard: shard, jobs: all.count, bytes: all.reduce(0) { $0 + $1.byteCount }, ownJobs: own.count,
            ownBytes: own.reduce(0) { $0 + $1.byteCount }, weights: WeightCounts(kept), calibrated: calibrated)
    }
}
