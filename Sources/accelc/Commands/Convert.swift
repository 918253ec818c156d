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
            CommonOptions.json
        ]
    static var notes: String { ConversionRequest.schemes }

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let start = ContinuousClock.now
        let request = try ConversionRequest(arguments)
        let output = try PackageOutput(arguments)

        var model = try RequestedModel(request, threads: console.threads)

        let cache = CacheChoice.cache(arguments, console)
        // Without a cache nothing depends on them yet: they are computed beside the compression.
        let known = try cache.map { try ModelDigests(model.checkpoint, cache: $0, threads: console.threads) }
        let key = try known.map { try CacheKey(request, $0, model.functions) }
        // A plan is made anew each time: it is written beside the package.
        let (outcome, claim) =
            try request.budget == nil ? output.take(key, from: cache) : (cache == nil ? .off : .miss, nil)
        defer { withExtendedLifetime(claim) {} }
        if outcome != .hit {
            try model.meetTarget(writingPlanTo: arguments[BudgetRequest.plan] ?? "\(output.path).plan")
            let plan = model.plan
            let draft = try output.draft(weights: plan.map(\.source.name))
            let kept = KeptTensors(
                cache: cache, digests: known, output: output.path, draft: draft, model: request.model)
            let (compressed, digests) = try model.compressed(
                keptIn: kept, digests: known, progress: console.progress("compressing", total: plan.count))
            let compiled = try compressed.compiled()
            let contents = try PackageContents(
                compiled, of: compressed, from: model, digests: digests)
            try digests.requireUnchanged()
            try output.write(contents, as: draft, keptIn: cache, as: key, model: request.model)
            cache?.tidy()
        }

        let summary = try ConversionSummary(of: output.path, cache: outcome, seconds: start.secondsToNow)
        if arguments.has(CommonOptions.json) { console.print(summary.json) } else { console.summary(summary.text) }
        summary.warnings.forEach(console.warning)
        return .success
    }
}
