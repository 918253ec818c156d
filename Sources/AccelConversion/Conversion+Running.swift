import AccelByteIO
import AccelCPURuntime
public import AccelPackages
import AccelPrograms
import AccelTensors

/// How many weights were found in the cache, and how many had to be made.
public struct WeightCounts: Equatable, Sendable {
    public var found = 0
    public var made = 0

    init() {}
    init(_ kept: KeptTensors) { (found, made) = (kept.counts.found, kept.counts.made) }
}

/// A package that a conversion has made or found.
public struct ConvertedPackage: Sendable {
    /// With its files mapped. What lies at its path may be another's by now.
    public let package: AcceleratorPackage
    public let cache: CacheOutcome
    /// Where everything was made anew: how it compares with what the cache has.
    public let comparison: CacheComparison?
    /// Nobody asked for shapes, and the model has free dimensions: its usual ones were taken.
    public let hasUsualShapes: Bool
    /// What became of the weights; none of either where the whole package was found.
    public let weights: WeightCounts
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
        let output = try PackageOutput(destination, of: self.model, in: cache)
        var model = try RequestedModel(self, writing: output, settings)
        model.warnings.map(ConversionEvent.warning).forEach(emit)

        // Without a cache nothing depends on them yet: they are computed with the compression.
        let digests = try model.source.digests(cache: cache, threads: settings.threads)
        var build = CachedBuild(
            output, as: try cache.map { _ in try key(digests, by: model.model.versionedName, model.functions) },
            in: cache)
        build.comparison = settings.comparesWithCache ? CacheComparison() : nil
        // A plan is made anew each time: it is written beside the package.
        build.isAnew = target != nil && output.form != .cached || build.comparison != nil
        var weights = WeightCounts()
        let (package, outcome) = try build.run {
            try model.meetTarget(writingPlanTo: settings.planFolder ?? "\(output.path).plan")
            model.choice?.events.forEach(emit)
            let memory = model.statistics(in: build.comparison == nil ? cache : nil, digests)
            try model.scaleChannels(remembering: memory)
            let draft = try output.draft(weights: model.plan.map(\.source.name))
            let kept = KeptTensors(
                cache: cache, digests: digests, output: output.path, draft: draft, comparedIn: build.comparison,
                model: self.model, threads: settings.threads)
            let compressed = try model.compressed(keptIn: kept, remembering: memory, digests: digests, emit: emit)
            weights = WeightCounts(kept)
            let graph = try compressed.graph()
            // A model that has no execution plan could not be run.
            _ = try graph.planned()
            let contents = try PackageContents(graph, of: compressed, from: model, digests: digests)
            try model.finish(digests, memory)
            if output.form != .cached { try model.planFolder?.requireReplaceable() }
            try settings.cancellation.check()
            return try PackageOutput.Draft(contents, as: draft)
        } publish: { draft in
            let package = try output.publish(draft)
            if output.form != .cached { try model.planFolder?.publish(package: package.digest) }
            return package
        }
        return ConvertedPackage(
            package: package, cache: outcome, comparison: build.comparison,
            hasUsualShapes: takesUsualShapes && model.model.functions == nil, weights: weights)
    }
}
