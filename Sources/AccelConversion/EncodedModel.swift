import AccelByteIO
import AccelFormats
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// A model with encoded weights: the last stage before a package or an export is written. A package is one already.
struct EncodedModel {
    let program: CompressedProgram
    let provenance: Provenance
    /// The digest of the package that the model is read from; nil for a conversion.
    let package: Digest?
    /// The channel scalings, by weight.
    let scalings: [String: ChannelScaling]
    /// The reasons why weights with method=awq are not scaled, by weight.
    private let unscaled: [String: String]
    /// The origin of the weights in the checkpoint's tensors.
    let origins: TensorOrigins
    private let unused: [UnusedTensor]
    private let assets: [Asset]

    init(
        _ scaled: ScaledModel, _ functions: [FrozenProgram], _ weights: [CompressedWeight], digests: ModelDigests
    ) throws {
        let (opened, model) = (scaled.planned.opened, scaled.planned.opened.model)
        program = CompressedProgram(functions: functions, weights: weights)
        (package, scalings, unscaled) = (nil, scaled.scalings, scaled.unscaled)
        (origins, unused, assets) = (model.origins, model.unused, try opened.source.assets)
        provenance = Provenance(
            sources: digests.sources, origin: Checkpoint.origin(of: opened.request.model), family: model.family,
            familyVersion: model.familyVersion, parts: model.recordedParts, logits: model.logits,
            recipe: scaled.planned.recipe.json, shapes: functions.map(\.bindings.description),
            remarks: functions.remarks + model.remarks, ignoredTensors: model.ignoredTensors,
            states: opened.request.states)
    }

    /// The model of a package, whose weights stay encoded as they are.
    init(_ package: AcceleratorPackage) throws {
        let contents = try package.contents
        program = package.graph.compressed
        (self.package, provenance) = (package.digest, package.manifest.provenance)
        let scaled = contents.coverage.compactMap { entry in entry.scaling.map { (entry.tensor.name, $0) } }
        scalings = Dictionary(scaled) { first, _ in first }
        (origins, unscaled, unused) = (contents.origins, [:], contents.unusedTensors)
        assets = contents.assets.filter { $0.name != PackageProbe.assetName }
    }

    /// The contents of a package of the model.
    func contents(_ graph: ModelGraph) -> PackageContents {
        PackageContents(
            graph: graph,
            coverage: program.weights.map { weight in
                var entry = CoverageEntry(weight)
                entry.scaling = scalings[weight.tensor.name]
                entry.reason = entry.reason ?? unscaled[weight.tensor.name]
                entry.derivation = origins.derivations[weight.tensor.name]
                entry.copies = origins.copies[weight.tensor.name] ?? []
                return entry
            },
            unusedTensors: unused.map { UnusedTensor(name: $0.name, reason: $0.reason) }, keptTensors: origins.kept,
            provenance: provenance, assets: assets)
    }

    /// The model as exporters take it.
    /// - Parameter plain: the reasons of weights that the format holds as plain numbers, by name.
    func exported(plain: [String: String] = [:]) -> ExportedModel {
        let (ignored, logits) = (provenance.ignoredTensors, provenance.logits)
        // The keys from which the export can be reproduced, and choices that are not the default.
        let texts: [(key: String, text: String?)] =
            [
                ("accelc.version", Tool.version), ("accelc.recipe", provenance.recipe.text()),
                ("accelc.shapes", program.functions.map(\.functionName).joined(separator: " ")),
                ("accelc.package", package?.description),
                (ExportedModel.ignoredTensorsKey, ignored.isEmpty ? nil : ignored.joined(separator: "\n")),
                (ExportedModel.logitsKey, logits == .all ? nil : logits.rawValue),
            ] + provenance.sources.map { ("accelc.source.\($0.name)", $0.digest.description) }
        return ExportedModel(
            program: program, family: provenance.family,
            provenance: texts.compactMap { key, text in text.map { (key, $0) } }, plain: plain, scalings: scalings,
            origins: origins, assets: assets)
    }
}

extension PackageContents {
    /// The origin of the weights in the tensors of the checkpoint that the package was made of.
    fileprivate var origins: TensorOrigins {
        let derivations = coverage.compactMap { entry in entry.derivation.map { (entry.tensor.name, $0) } }
        let copies = coverage.filter { !$0.copies.isEmpty }.map { ($0.tensor.name, $0.copies) }
        return TensorOrigins(
            derivations: Dictionary(derivations) { first, _ in first },
            copies: Dictionary(copies) { first, _ in first }, kept: keptTensors)
    }
}
