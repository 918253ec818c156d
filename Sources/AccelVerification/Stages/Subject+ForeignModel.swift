import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension Subject {
    /// Returns a sentence if a package seems to be made from another model than the reference: less than half of its weights have
    /// the name and the shape of one there. nil if more have, or for subjects whose weights have other names.
    func foreignModel(_ reference: Subject?) -> String? {
        guard case .package(let package) = self, case .model(let model)? = reference else { return nil }
        let weights = package.graph.weightNames
        let own = package.graph.tensors.filter { weights.contains($0.name) }.map { ($0.name, $0.shape) }
        let there = Dictionary(
            model.programs.flatMap { $0.constants.filter(\.isWeight) }.map { ($0.name, $0.shape) }
        ) { first, _ in first }
        let known = own.count { there[$0.0] == $0.1 }
        guard !own.isEmpty, known * 2 < own.count else { return nil }
        let families = (package.manifest.provenance.family, model.family)
        let words =
            families.0 == families.1
            ? "both are of the family \(families.0)"
            : "the package is of the family \(families.0), this one of \(families.1)"
        return
            "is this the model that the package was made from? It has \(known) of the package's \(own.count) weights; \(words)"
    }
}
