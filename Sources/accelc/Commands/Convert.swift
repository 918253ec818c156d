import AccelByteIO
import AccelPackages
import AccelPrograms
import AccelTensors

/// The whole of the tool in a straight line: each call is one layer.
enum ConvertCommand: Command {
    static let name = "convert"
    static let summary = "turn a model into an accelerator package"
    static let positionals = [ConversionRequest.model]
    static let options =
        [PackageOutput.output, PackageOutput.zip] + ConversionRequest.options + CacheChoice.options + [
            CacheChoice.verify, CommonOptions.json,
        ]
    static var notes: String { ConversionRequest.schemes }

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let start = ContinuousClock.now
        let request = try ConversionRequest(arguments)
        let output = try PackageOutput(arguments)
        let signatures = SignaturesBeside(output.path)
        let comparison = arguments.has(CacheChoice.verify) ? CacheComparison() : nil
        let made = try convert(
            request, to: output, cache: try CacheChoice.cache(arguments, console), comparedIn: comparison,
            plan: arguments[BudgetRequest.plan], console)

        let summary = try ConversionSummary(
            of: made.package, at: output.path, cache: made.cache, seconds: start.secondsToNow,
            hasUsualShapes: request.takesUsualShapes)
        if arguments.has(CommonOptions.json) { console.print(summary.json) } else { console.summary(summary.text) }
        (summary.warnings + signatures.warnings(after: summary.package.digest)).forEach(console.warning)
        summary.remarks.forEach(console.detail)
        return comparison.map { CacheChoice.report($0, console) } ?? .success
    }

    /// - Parameters:
    ///   - comparison: where there is one, everything is made anew, and compared with what the cache has.
    ///   - planFolder: where the choice of schemes is written, nil where there is none to make.
    /// - Returns: the package that this conversion has published: what lies at its path may be another's by now.
    static func convert(
        _ request: ConversionRequest, to output: PackageOutput, cache: Cache?, comparedIn comparison: CacheComparison?,
        plan planFolder: String?, _ console: Console
    ) throws -> (cache: CacheOutcome, package: AcceleratorPackage) {
        var model = try RequestedModel(request, threads: console.threads)
        model.warnings.forEach(console.warning)

        // Without a cache nothing depends on them yet: they are computed with the compression.
        let digests = try ModelDigests(model.checkpoint, cache: cache, threads: console.threads)
        let key = cache.map { _ in CacheKey(request, digests, model.functions) }
        // A plan is made anew each time: it is written beside the package.
        let isAnew = request.budget != nil && output.form != .cached || comparison != nil
        let (found, claim) = try isAnew ? (nil, nil) : output.take(key, from: cache)
        defer { claim?.release() }
        if let found { return (.hit, found) }

        try model.meetTarget(writingPlanTo: planFolder)
        model.choice?.tell(console)
        let memory = model.statistics(in: comparison == nil ? cache : nil, digests)
        try model.scaleChannels(remembering: memory)
        let plan = model.plan
        let draft = try output.draft(weights: plan.map(\.source.name))
        let kept = KeptTensors(
            cache: cache, digests: digests, output: output.path, draft: draft, comparedIn: comparison,
            model: request.model, threads: console.threads)
        let compressed = try model.compressed(
            keptIn: kept, remembering: memory, digests: digests,
            progress: console.progress("compressing", total: plan.count))
        let graph = try compressed.graph()
        let contents = try PackageContents(graph, of: compressed, from: model, digests: digests)
        try model.finish(digests, memory)
        let earlier = comparison.flatMap { _ in key.flatMap { try? cache?.package(for: $0).get().package } }
        if output.form != .cached { try model.planFolder?.requireReplaceable() }
        let package = try output.write(contents, as: draft, keptIn: cache, as: key, model: request.model)
        if output.form != .cached { try model.planFolder?.publish(package: package.digest) }
        if let earlier { comparison?.note("the package", isSame: earlier == package.digest) }
        claim?.release()
        cache?.finish()
        return (cache == nil ? .off : .miss, package)
    }
}
