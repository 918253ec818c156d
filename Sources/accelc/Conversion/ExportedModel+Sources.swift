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

    /// A model's functions, with its weights compressed as asked for, unless the format cannot express them.
    static func model(
        _ request: ConversionRequest, _ arguments: Arguments, _ console: Console, for exporter: any Exporter,
        output: String
    ) throws -> ExportedModel {
        var model = try RequestedModel(request, threads: console.threads)
        try model.meetTarget(writingPlanTo: arguments[BudgetRequest.plan] ?? "\(output).plan")
        try exporter.check(model.functions, model.plan)
        let cache = try CacheChoice.cache(arguments, console)
        let known = try cache.map { try ModelDigests(model.checkpoint, cache: $0, threads: console.threads) }
        let kept = KeptTensors(cache: cache, digests: known, output: output, model: request.model)
        let (compressed, digests) = try model.compressed(
            keptIn: kept, digests: known, progress: console.progress("compressing", total: model.plan.count))
        try digests.requireUnchanged()
        cache?.finish()
        return ExportedModel(
            program: compressed, family: type(of: model.family).modelTypes.first ?? "",
            provenance: [
                ("accelc.version", Tool.version), ("accelc.recipe", model.recipe.json.text()),
                ("accelc.shapes", model.functions.map(\.functionName).joined(separator: " ")),
            ] + digests.sources.map { ("accelc.source.\($0.name)", $0.digest.description) })
    }
}
