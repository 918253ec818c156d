import AccelByteIO
public import AccelPackages
import AccelPrograms
import AccelTensors

/// A package that a conversion has made or found.
public struct ConvertedPackage: Sendable {
    /// With its files mapped. What lies at its path may be another's by now.
    public let package: AcceleratorPackage
    public let cache: CacheOutcome
    /// Where everything was made anew: how it compares with what the cache has.
    public let comparison: CacheComparison?
}

extension Conversion {
    /// Converts on a thread of its own.
    public func run(
        to destination: PackageDestination, _ settings: ConversionSettings = ConversionSettings()
    ) -> Work<ConvertedPackage, ConversionEvent> {
        Work(settings.cancellation) { emit in try convert(to: destination, settings, emit: emit) }
    }

    /// The whole of a conversion in a straight line: each call is one layer. Blocks until it is done.
    /// - Parameter emit: gets what it tells, on this thread.
    /// - Throws: `FormatError` for a model that is corrupt, `RequestError` for a request that cannot be carried out,
    ///   `CancellationError`.
    public func convert(
        to destination: PackageDestination, _ settings: ConversionSettings = ConversionSettings(),
        emit: (ConversionEvent) -> Void = { _ in }
    ) throws -> ConvertedPackage {
        let cache = settings.cache
        let output = try PackageOutput(destination, in: cache)
        var model = try RequestedModel(self, writing: output, settings)
        model.warnings.map(ConversionEvent.warning).forEach(emit)

        // Without a cache nothing depends on them yet: they are computed with the compression.
        let digests = try ModelDigests(model.checkpoint, cache: cache, threads: settings.threads)
        let key = cache.map { _ in self.key(digests, model.functions) }
        let comparison = settings.comparesWithCache ? CacheComparison() : nil
        // A plan is made anew each time: it is written beside the package.
        let isAnew = target != nil && output.form != .cached || comparison != nil
        let (found, claim) = try isAnew ? (nil, nil) : output.take(key, from: cache)
        defer { claim?.release() }
        if let found { return ConvertedPackage(package: found, cache: .hit, comparison: nil) }

        try model.meetTarget(writingPlanTo: settings.planFolder ?? "\(output.path).plan")
        model.choice?.events.forEach(emit)
        let memory = model.statistics(in: comparison == nil ? cache : nil, digests)
        try model.scaleChannels(remembering: memory)
        let plan = model.plan
        let draft = try output.draft(weights: plan.map(\.source.name))
        let kept = KeptTensors(
            cache: cache, digests: digests, output: output.path, draft: draft, comparedIn: comparison,
            model: self.model, threads: settings.threads)
        let compressed = try model.compressed(keptIn: kept, remembering: memory, digests: digests, emit: emit)
        let graph = try compressed.graph()
        let contents = PackageContents(graph, of: compressed, from: model, digests: digests)
        try model.finish(digests, memory)
        let earlier = comparison.flatMap { _ in key.flatMap { try? cache?.package(for: $0).get().package } }
        if output.form != .cached { try model.planFolder?.requireReplaceable() }
        try settings.cancellation.check()
        let package = try output.write(contents, as: draft, keptIn: cache, as: key, model: self.model)
        if output.form != .cached { try model.planFolder?.publish(package: package.digest) }
        if let earlier { comparison?.note("the package", isSame: earlier == package.digest) }
        claim?.release()
        cache?.finish()
        return ConvertedPackage(package: package, cache: cache == nil ? .off : .miss, comparison: comparison)
    }
}
