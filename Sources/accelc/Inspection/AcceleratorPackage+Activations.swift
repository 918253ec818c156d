import AccelByteIO
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension AcceleratorPackage {
    /// How activations are rounded, by the weights that they are multiplied with; nil if they are not.
    func activations() throws -> String? {
        let programs = graph.functions.map(\.program)
        let rounded = programs.reduce(into: Set<String>()) { $0.formUnion($1.weightsOfRoundedActivations) }
        guard !rounded.isEmpty else { return nil }
        let fixed = programs.reduce(into: Set<String>()) { $0.formUnion($1.activationRanges.keys) }
        var text = "activations: int8 for \(Wording.count(rounded.count, "weight"))"
        if !fixed.isEmpty { text += ", \(fixed.count) of them with a fixed range" }
        let recipe = try Recipe(JSONField(manifest.provenance.recipe, file: path, path: "recipe"))
        guard recipe.smoothsActivations else { return text }
        let smoothed = try coverage.count {
            rounded.contains($0.tensor.name) && $0.scaling?.columns.isEmpty == false
        }
        return text + ", \(smoothed) of them smoothed"
    }
}
