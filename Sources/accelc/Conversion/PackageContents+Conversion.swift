import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelVerification
import AccelWeightCompression

extension PackageContents {
    /// What a conversion has made, and where it comes from.
    init(
        _ graph: ModelGraph, of compressed: CompressedProgram, from source: RequestedModel,
        digests: ModelDigests
    ) throws {
        let original = OriginalModel(
            source.model, of: source.checkpoint, by: source.family, digests: digests)
        self.init(
            graph: graph,
            coverage: compressed.weights.map { weight in
                var entry = CoverageEntry(weight)
                entry.scaling = source.scalings[weight.tensor.name]
                entry.reason = entry.reason ?? source.unscaled[weight.tensor.name]
                entry.derivation = original.origins.derivations[weight.tensor.name]
                entry.copies = original.origins.copies[weight.tensor.name] ?? []
                return entry
            },
            unusedTensors: original.unused, keptTensors: original.origins.kept,
            provenance: Provenance(
                sources: original.sources, family: original.family,
                familyVersion: original.familyVersion, parts: original.parts, recipe: source.recipe.json,
                shapes: compressed.functions.map(\.bindings.description),
                remarks: compressed.functions.remarks + original.remarks, ignoredTensors: original.ignoredTensors),
            assets: original.assets)
    }
}

extension ContinuousClock.Instant {
    var secondsToNow: Double { (ContinuousClock.now - self) / .seconds(1) }
}
