import ByteIO
import Exporters
import ModelFamilies
import Packages
import Programs
import Tensors
import WeightCompression

/// What `export` takes a model from.
extension ExportedModel {
    /// The model of a package: what it was made of is settled.
    static func package(_ request: ConversionRequest, _ arguments: Arguments) throws -> ExportedModel {
        let settled = ConversionRequest.options.filter {
            $0.affectsOutput && arguments.has($0)
        }
        if let option = settled.first {
            throw RequestError("\(request.model) is a package, which settles --\(option.name): leave it out")
        }
        let package = try AcceleratorPackage(at: request.model)
        let weights = Set(try package.sourceMap().coverage.map(\.tensor.name))
        return ExportedModel(
            program: try CompressedProgram(lifting: package.program, isWeight: weights.contains),
            family: package.manifest.provenance.family,
            provenance: [("accelc.package", package.digest.description), ("accelc.version", Tool.version)])
    }

    /// A model's functions, with its weights compressed as asked for.
    static func model(
        _ request: ConversionRequest, _ arguments: Arguments, _ console: Console, output: String
    ) throws -> ExportedModel {
        let checkpoint = try Checkpoint(model: request.model, configuration: request.configuration)
        let family = try Families.matching(checkpoint.configuration)
        let model = try family.model(for: checkpoint, parts: request.parts)
        let frozen = try request.freezing(model.programs)
        let plan = request.recipe.plan(for: frozen)
        try request.check(model.unused, plan)

        let cache = CacheChoice.cache(arguments, console)
        let digests = try ModelDigests(checkpoint, cache: cache, threads: console.threads)
        let kept = KeptTensors(cache: cache, digests: digests, output: output, model: request.model)
        let progress = console.progress("compressing", total: plan.count)
        let compressed = try request.recipe.compressing(
            frozen, threads: console.threads, stored: kept.stored, store: kept.store,
            progress: { progress.step($0.name) })
        try digests.requireUnchanged()
        return ExportedModel(
            program: compressed, family: type(of: family).modelTypes.first ?? "",
            provenance: [
                ("accelc.version", Tool.version), ("accelc.recipe", request.recipe.json.text()),
                ("accelc.shapes", frozen.map(\.functionName).joined(separator: " ")),
            ] + digests.sources.map { ("accelc.source.\($0.name)", $0.digest.description) })
    }
}
