import ByteIO
import ModelFamilies
import Packages
import Programs
import Tensors

extension PackageContents {
    /// What a conversion has made, and where it comes from.
    init(
        _ compiled: CompiledProgram, of compressed: CompressedProgram, model: FamilyModel, family: any ModelFamily,
        checkpoint: Checkpoint, digests: ModelDigests, recipe: JSON
    ) throws {
        self.init(
            program: compiled, coverage: compressed.weights.map(CoverageEntry.init),
            unusedTensors: model.unused.map { UnusedTensor(name: $0.name, reason: $0.reason) },
            provenance: Provenance(
                sources: digests.sources, family: type(of: family).modelTypes.first ?? "", recipe: recipe,
                shapes: compressed.functions.map(\.bindings.description),
                remarks: compressed.functions.remarks),
            assets: try checkpoint.assets.map { Asset(name: $0.name, content: try MappedFile($0.path).bytes) })
    }
}

extension ContinuousClock.Instant {
    var secondsToNow: Double { (ContinuousClock.now - self) / .seconds(1) }
}
