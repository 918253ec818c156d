import ByteIO
import Packages
import Programs
import Tensors

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
        let comparison = arguments.has(CacheChoice.verify) ? CacheComparison() : nil
        let outcome = try convert(
            request, to: output, cache: try CacheChoice.cache(arguments, console), comparedIn: comparison,
            plan: arguments[BudgetRequest.plan] ?? "\(output.path).plan", console)

        let summary = try ConversionSummary(of: output.path, cache: outcome, seconds: start.secondsToNow)
        if arguments.has(CommonOptions.json) { console.print(summary.json) } else { console.summary(summary.text) }
        summary.warnings.forEach(console.warning)
        return comparison.map { CacheChoice.report($0, console) } ?? .success
    }

    /// - Parameters:
    ///   - comparison: where there is one, everything is made anew, and compared with what the cache has.
    ///   - planFolder: where the choice of schemes is written, if there is one to make.
    static func convert(
        _ request: ConversionRequest, to output: PackageOutput, cache: Cache?, comparedIn comparison: CacheComparison?,
        plan planFolder: String, _ console: Console
    ) throws -> CacheOutcome {
        var model = try RequestedModel(request, threads: console.threads)
        model.checkpoint.remarks.forEach(console.warning)

        // Without a cache nothing depends on them yet: they are computed beside the compression.
        let known = try cache.map { try ModelDigests(model.checkpoint, cache: $0, threads: console.threads) }
        let key = try known.map { try CacheKey(request, $0, model.functions) }
        // A plan is made anew each time: it is written beside the package.
        let isAnew = request.budget != nil && output.form != .cached || comparison != nil
        let (outcome, claim) = try isAnew ? (cache == nil ? .off : .miss, nil) : output.take(key, from: cache)
        defer { claim?.release() }
        if outcome == .hit { return outcome }

        try model.meetTarget(writingPlanTo: planFolder)
        let remembered = comparison == nil ? cache : nil
        try model.scaleChannels(remembering: remembered, digests: known)
        let plan = model.plan
        let draft = try output.draft(weights: plan.map(\.source.name))
        let kept = KeptTensors(
            cache: cache, digests: known, output: output.path, draft: draft, comparedIn: comparison,
            model: request.model, threads: console.threads)
        let (compressed, digests) = try model.compressed(
            keptIn: kept, remembering: remembered, digests: known,
            progress: console.progress("compressing", total: plan.count))
        let compiled = try compressed.compiled()
        let contents = try PackageContents(compiled, of: compressed, from: model, digests: digests)
        try digests.requireUnchanged()
        let earlier = comparison.flatMap { _ in key.flatMap { try? cache?.package(for: $0).get().package } }
        let digest = try output.write(contents, as: draft, keptIn: cache, as: key, model: request.model)
        if let earlier { comparison?.note("the package", isSame: earlier == digest) }
        claim?.release()
        cache?.finish()
        return outcome
    }
}
