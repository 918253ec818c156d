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
    static let options = [PackageOutput.output, PackageOutput.zip] + ConversionRequest.options + [CommonOptions.json]
    static var notes: String { ConversionRequest.schemes }

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let clock = ContinuousClock()
        let start = clock.now
        let request = try ConversionRequest(arguments)
        let output = try PackageOutput(arguments)

        let checkpoint = try Checkpoint(model: request.model, configuration: request.configuration)
        let family = try Families.matching(checkpoint.configuration)
        let model = try family.model(for: checkpoint, parts: request.parts)
        let frozen = try request.freezing(model.programs)
        let progress = console.progress("compressing", total: frozen.weightCount)
        let compressed = try request.recipe.compressing(
            frozen, threads: console.threads, progress: { progress.step($0.name) })
        let compiled = try compressed.compiled()
        let contents = PackageContents(
            program: compiled, coverage: compressed.weights.map(CoverageEntry.init),
            unusedTensors: model.unused.map { UnusedTensor(name: $0.name, reason: $0.reason) },
            provenance: Provenance(
                sources: try checkpoint.sources(threads: console.threads), family: family.name,
                recipe: request.recipe.json, shapes: frozen.map(\.bindings.description)),
            assets: try checkpoint.assetContents)
        try request.check(PackageCoverage(of: contents))
        try output.write(contents)

        let package = try AcceleratorPackage(at: output.path)
        let summary = ConversionSummary(
            package: package, coverage: try PackageCoverage(of: package), cache: "off",
            seconds: clock.seconds(since: start))
        if arguments.has(CommonOptions.json) { console.print(summary.json) } else { console.summary(summary.text) }
        summary.warnings.forEach(console.warning)
        return .success
    }
}
