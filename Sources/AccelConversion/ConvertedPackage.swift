import AccelByteIO
import AccelCPURuntime
public import AccelCalibration
public import AccelPackages
import AccelPrograms
import AccelTensors

/// Numbers of weights that were found in the cache and that were compressed.
public struct WeightCounts: Equatable, Sendable {
    /// Weights taken from the cache.
    public var found = 0
    /// The weights among `found` that the cache server has supplied to this run.
    public var received = 0
    /// Weights compressed by this run.
    public var made = 0

    init() {}
    init(_ kept: KeptTensors) {
        let counts = kept.counts
        (found, received, made) = (counts.found, counts.received, counts.made)
    }
}

/// The package of a conversion, newly made or found in the cache.
public struct ConvertedPackage: Sendable {
    /// The package with its files mapped. Another process may have replaced the files at its path since.
    public let package: AcceleratorPackage
    /// The key of the package in the cache; nil without a cache.
    public let key: CacheKey?
    /// Whether the whole package came from the cache.
    public let cache: CacheOutcome
    /// The comparison with the cached results; nil unless `ConversionSettings.comparesWithCache` is set.
    public let comparison: CacheComparison?
    /// Whether the model's usual shapes were used: it has free dimensions, and the request has no shapes.
    public let hasUsualShapes: Bool
    /// Numbers of weights found and made; both are 0 if the whole package was found.
    public let weights: WeightCounts
    /// The names of the model's tensors that the request leaves out, as those of other parts.
    package let leftOut: Set<String>
    /// The result of the request's target; nil without one.
    public let target: TargetResult?
    /// The outputs over the request's samples, with activations in float32; nil without samples.
    public let outputs: SampledOutputs?
    /// Whether the samples choose and fit nothing: all of them are as new to the package as other inputs.
    package let onlyMeasuresSamples: Bool
    /// The SQNR in dB of the outputs over the request's samples; nil without samples.
    public var outputSQNR: Double? { outputs?.sqnr }
}

extension Conversion {
    /// Runs `convert` on a thread of its own.
    public func run(
        to destination: PackageDestination, _ settings: ConversionSettings = ConversionSettings()
    ) -> Work<ConvertedPackage, ConversionEvent> {
        Work(settings.cancellation) { emit in try convert(to: destination, settings, emit: emit) }
    }

    /// Converts the model and publishes the package; blocks until that is done. Each call in the body is one layer.
    /// - Parameter emit: receives the events, on the calling thread.
    /// - Throws: `FormatError` if the model is corrupt, `RequestError` if the request cannot be carried out,
    ///   `CancellationError`.
    public func convert(
        to destination: PackageDestination, _ settings: ConversionSettings = ConversionSettings(),
        emit: (ConversionEvent) -> Void = { _ in }
    ) throws -> ConvertedPackage {
        let cache = settings.cache
        let output = try PackageOutput(destination, of: self.model, for: profile, in: cache)
        let planned = try planned(writing: [NamedPath(name: "the package", path: output.path)], settings)
        let opened = planned.opened
        // A package records the model's remarks, and its summary prints them.
        try planned.warnings(besides: opened.model.remarks).forEach { emit(.warning($0)) }
        planned.notes.forEach { emit(.note($0)) }
        // A target decides about sizes later.
        if target == nil { try output.require(profile, weightBytes: planned.plan.map(\.storedBytes)) }

        var run = try ConversionRun(
            planned, settings, comparison: settings.comparesWithCache ? CacheComparison() : nil)
        run.search = try TargetSearch(self, settings, beside: output.form == .cached ? nil : output.path)
        try run.recallTarget(emit: emit)
        var build = CachedBuild(output, as: run.key, in: cache)
        build.comparison = run.comparison
        // Without the target's choice a package of the cache does not do: the summary and the compression plan need it.
        let lacksChoice = target != nil && run.search?.found == nil && output.form != .cached
        build.isAnew = lacksChoice || run.comparison != nil
        var (weights, last) = (WeightCounts(), planned)
        let (package, outcome) = try build.run {
            let scaled = try run.scaled(emit: emit)
            last = scaled.planned
            let draft = try output.draft(weights: last.plan.map(\.source.name))
            let kept = run.kept(beside: output.path, in: draft)
            let encoded = try run.encoded(scaled, keptIn: kept, emit: emit)
            weights = WeightCounts(kept)
            let graph = try encoded.program.graph()
            // Fails early for a model without an execution plan: it could not run.
            let plan = try graph.planned()
            var contents = encoded.contents(graph)
            if hasProbe {
                let prepared = PreparedModel(plan)
                let probe = try PackageProbe(of: graph) { function, inputs in
                    try Session(prepared, threads: settings.threads).run(function, inputs)
                }
                contents.assets.append(probe.asset)
            }
            try run.search?.folder?.requireReplaceable()
            try settings.cancellation.check()
            let made = try PackageOutput.Draft(contents, as: draft)
            try output.require(profile, made.package)
            return made
        } publish: { draft in
            let package = try output.publish(draft)
            try run.search?.folder?.publish(package: package.digest)
            return package
        }
        try run.search?.folder?.publish(package: package.digest)
        last.withoutMethod(package.graph.tensors).forEach { emit(.note($0)) }
        return ConvertedPackage(
            package: package, key: run.key, cache: outcome, comparison: run.comparison,
            hasUsualShapes: takesUsualShapes && opened.model.functions == nil, weights: weights,
            leftOut: Set(opened.model.unused.filter(\.isExpected).map(\.name)), target: run.search?.result,
            outputs: run.search?.found?.choice.outputs
                ?? last.outputs(with: package.graph.tensors, of: package.digest, in: cache, emit: emit),
            onlyMeasuresSamples: opened.request.onlyMeasuresSamples)
    }
}
