import AccelByteIO
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension AcceleratorPackage {
    /// How activations are rounded, by the weights that they are multiplied with; nil if they are not.
    func activations() throws -> String? {
        let programs = graph.functions.map(\.program)
        let bfloat16 = programs.reduce(into: Set<String>()) { $0.formUnion($1.weightsOfBFloat16Activations) }
        let parts = [
            bfloat16.isEmpty ? nil : "bfloat16 for \(Wording.count(bfloat16.count, "weight"))", try bytes(programs),
        ]
        let text = parts.compactMap(\.self).joined(separator: "; ")
        return text.isEmpty ? nil : "activations: \(text)"
    }

    /// Those that are rounded to 8 bits; nil if there are none.
    private func bytes(_ programs: [Program]) throws -> String? {
        let rounded = programs.reduce(into: Set<String>()) { $0.formUnion($1.weightsOfByteActivations) }
        guard !rounded.isEmpty else { return nil }
        let fixed = programs.reduce(into: Set<String>()) { $0.formUnion($1.activationRanges.keys) }
        var text = "int8 for \(Wording.count(rounded.count, "weight"))"
        if !fixed.isEmpty { text += ", \(fixed.count) of them with a fixed range" }
        let recipe = try Recipe(JSONField(manifest.provenance.recipe, file: path, path: "recipe"))
        guard recipe.smoothsActivations else { return text }
        let smoothed = try coverage.count {
            rounded.contains($0.tensor.name) && $0.scaling?.columns.isEmpty == false
        }
        return text + ", \(smoothed) of them smoothed"
    }
}
