import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension PackageContents {
    /// The contents of a conversion's package: graph, coverage and provenance.
    init(
        _ graph: ModelGraph, of compressed: CompressedProgram, from source: RequestedModel, digests: ModelDigests
    ) throws {
        let (model, origins) = (source.model, source.model.origins)
        self.init(
            graph: graph,
            coverage: compressed.weights.map { weight in
                var entry = CoverageEntry(weight)
                entry.scaling = source.scalings[weight.tensor.name]
                entry.reason = entry.reason ?? source.unscaled[weight.tensor.name]
                entry.derivation = origins.derivations[weight.tensor.name]
                entry.copies = origins.copies[weight.tensor.name] ?? []
                return entry
            },
            unusedTensors: model.unused.map { UnusedTensor(name: $0.name, reason: $0.reason) },
            keptTensors: origins.kept,
            provenance: Provenance(
                sources: digests.sources, origin: Checkpoint.origin(of: source.request.model), family: model.family,
                familyVersion: model.familyVersion,
                parts: model.recordedParts, logits: model.logits,
                recipe: source.recipe.json, shapes: compressed.functions.map(\.bindings.description),
                remarks: compressed.functions.remarks + model.remarks, ignoredTensors: model.ignoredTensors,
                states: source.request.states),
            assets: try source.source.assets)
    }
}
