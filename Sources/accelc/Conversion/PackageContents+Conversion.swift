import ByteIO
import ModelFamilies
import Packages
import Programs
import Tensors
import WeightCompression

extension PackageContents {
    /// What a conversion has made, and where it comes from.
    init(
        _ compiled: CompiledProgram, of compressed: CompressedProgram, from source: RequestedModel,
        digests: ModelDigests
    ) throws {
        self.init(
            program: compiled,
            coverage: compressed.weights.map { weight in
                var entry = CoverageEntry(weight)
                entry.scaling = source.scalings[weight.tensor.name]
                entry.reason = entry.reason ?? source.unscaled[weight.tensor.name]
                return entry
            },
            unusedTensors: source.model.unused.map { UnusedTensor(name: $0.name, reason: $0.reason) },
            provenance: Provenance(
                sources: digests.sources, family: type(of: source.family).modelTypes.first ?? "",
                recipe: source.recipe.json,
                shapes: compressed.functions.map(\.bindings.description),
                remarks: compressed.functions.remarks),
            assets: try source.checkpoint.assets.map { Asset(name: $0.name, content: try MappedFile($0.path).bytes) })
    }
}

extension ContinuousClock.Instant {
    var secondsToNow: Double { (ContinuousClock.now - self) / .seconds(1) }
}
