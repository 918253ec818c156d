import ByteIO
import ModelFamilies
import Packages
import Programs
import Tensors
import WeightCompression

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

        let checkpoint = try Checkpoint(model: request.model, configuration: request.configuration)
        let family = try Families.matching(checkpoint.configuration)
        let model = try family.model(for: checkpoint, parts: request.parts)
        let frozen = try request.freezing(model.programs)
        var calibration = try ModelCalibration(
            request, parts: model.programs, threads: console.threads)
        var recipe = calibration.resolving(request.recipe)
        let plan = recipe.plan(for: frozen)
        try request.check(model.unused, plan)

        let cache = CacheChoice.cache(arguments, console)
        // Without a cache nothing depends on them yet: they are computed beside the compression.
        let known = try cache.map { try ModelDigests(checkpoint, cache: $0, threads: console.threads) }
        let key = try known.map { try CacheKey(request, $0, frozen) }
        // A plan is made anew each time: it is written beside the package.
        let outcome = try request.budget == nil ? output.take(key, from: cache) : cache == nil ? .off : .miss
        if outcome != .hit {
            if let budget = request.budget {
                let folder = arguments[BudgetRequest.plan] ?? "\(output.path).plan"
                (recipe, calibration) = try budget.solve(recipe, frozen, calibration, folder: folder)
            }
            let draft = try output.draft(weights: plan.map(\.source.name))
            let kept = KeptTensors(
                cache: cache, digests: known, output: output.path, draft: draft, model: request.model)
            let progress = console.progress("compressing", total: plan.count)
            let threads = console.threads
            let (compressed, digests) = try Parallel.alongside(
                threads: threads, { try known ?? ModelDigests(checkpoint, cache: nil, threads: threads) }
            ) {
                try recipe.compressing(
                    frozen, threads: threads, stored: kept.stored, store: kept.store,
                    calibrating: { plan, stored in
                        try calibration.compressing(plan, stored: stored, keptIn: kept) { progress.step($0.name) }
                    },
                    progress: { progress.step($0.name) })
            }
            let compiled = try compressed.compiled()
            let contents = try PackageContents(
                compiled, of: compressed, model: model, family: family, checkpoint: checkpoint, digests: digests,
                recipe: recipe.json)
            try digests.requireUnchanged()
            try output.write(contents, as: draft, keptIn: cache, as: key, model: request.model)
        }

        let summary = try ConversionSummary(of: output.path, cache: outcome, seconds: start.secondsToNow)
        if arguments.has(CommonOptions.json) { console.print(summary.json) } else { console.summary(summary.text) }
        summary.warnings.forEach(console.warning)
        return .success
    }
}
