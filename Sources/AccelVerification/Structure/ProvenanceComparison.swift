import AccelByteIO
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// Compares a package's provenance with the model's files: sources, family, parts, shapes, remarks, tensors that stay
/// unused, and the files passed through.
struct ProvenanceComparison {
    let found: PackageContents
    let original: OriginalModel
    let recipe: Recipe?
    let frozen: [FrozenProgram]

    func run(_ finding: inout StructureFinding) {
        let provenance = found.provenance
        if !provenance.sources.isEmpty, !provenance.sources.contains(where: original.sources.contains) {
            let names = provenance.sources.prefix(3).map(\.name) + (provenance.sources.count > 3 ? ["..."] : [])
            finding.remarks.append(
                "the package says that it was made of \(names.joined(separator: ", ")), and no file of this model is one of them: compare it "
                    + "with what it was made of"
                    + (provenance.family == original.family
                        ? ", or its outputs alone with this model" : ""))
        }
        func list(_ words: [String]) -> String { words.isEmpty ? "none" : words.joined(separator: " ") }
        finding.compare("provenance family", "the family", provenance.family, original.family)
        finding.compare("provenance parts", "the list of parts asked for", list(provenance.parts), list(original.parts))
        finding.compare(
            "provenance logits", "the choice of logits", provenance.logits.rawValue, original.logits.rawValue)
        finding.compare(
            "provenance shapes", "function", provenance.shapes, found.graph.functions.map(\.bindings.description)
        ) { $0.isEmpty ? "of no free dimensions" : $0 }
        finding.compare("provenance remarks", "remark", provenance.remarks, frozen.remarks + original.remarks) {
            "\"\($0)\""
        }
        finding.compare("provenance sources", "source", provenance.sources, original.sources) {
            "\($0.name) of \($0.byteCount) bytes, digest \($0.digest)"
        }
        finding.compare(
            "provenance ignoredTensors", "the list of tensors to leave out", list(provenance.ignoredTensors),
            list(original.ignoredTensors))
        for pattern in original.ignoredTensors {
            finding.remarks.append("tensors \(pattern) of the model are left out: the conversion ignored them")
        }
        finding.compare("source-map.json", "unused tensor", found.unusedTensors, original.unused) {
            "\"\($0.name)\" (\($0.reason))"
        }
        finding.compare("source-map.json", "tensor kept for a table", found.keptTensors, original.origins.kept) {
            "\"\($0.name)\" \($0.elementType.rawValue)\($0.shape)"
        }
        compareAssets(&finding)
        finding.compared += [("source", provenance.sources.count), ("asset", found.assets.count)]
        if !provenance.isOfThisVersion {
            finding.remarks.append(
                "the package says that accelc \(provenance.toolVersion) made it, and this is \(Tool.version)"
                    + (provenance.otherCodecs.isEmpty
                        ? ""
                        : "; its codes of \(provenance.otherCodecs.sorted().joined(separator: ", ")) are of another version: that "
                            + "they are the same is not proven, only how far they are from the model's"))
        }
    }

    private func compareAssets(_ finding: inout StructureFinding) {
        // The probe is of the package itself, and compared with its functions.
        let assets = found.assets.filter { $0.name != PackageProbe.assetName }
        for name in Set(original.assets.map(\.name)).subtracting(assets.map(\.name)).sorted() {
            finding.add("assets/\(name)", "the package lacks this file of the model")
        }
        for asset in assets {
            guard let wanted = original.assets.first(where: { $0.name == asset.name }) else {
                finding.add("assets/\(asset.name)", "the model has no such file")
                continue
            }
            guard let index = asset.content.firstDifference(from: wanted.content) else { continue }
            finding.add("assets/\(asset.name)", "differs from the model's file from byte \(index) on")
        }
    }
}
