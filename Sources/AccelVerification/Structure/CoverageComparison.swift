import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// Compares the coverage table with the compression plan that the recipe gives for the model: the weights, the scheme
/// of each with its reason, and the operators that read it. S1 computes and compares errors.
struct CoverageComparison {
    let found: [CoverageEntry]
    let graph: ModelGraph
    let programs: [Program]
    /// The recorded recipe; nil if it could not be read.
    let recipe: Recipe?
    let frozen: [FrozenProgram]
    /// The mapping from the checkpoint's tensors to the weights.
    let origins: TensorOrigins

    func run(_ finding: inout StructureFinding) throws {
        let plan = try (recipe ?? Recipe(default: Codecs.codec("stored"))).plan(for: frozen)
        finding.compare("source-map.json", "tensor", found.map(\.tensor.name), plan.map(\.source.name)) { "\"\($0)\"" }
        let byName = Dictionary(plan.map { ($0.source.name, $0) }) { first, _ in first }
        compareScalings(&finding)
        let (sites, calibrated) = (programs.scalingSites, calibratedWeights)
        for entry in found {
            guard let planned = byName[entry.tensor.name] else { continue }
            compare(entry, planned, &finding)
            guard recipe != nil else { continue }
            let site = sites.first { $0.readers.contains(entry.tensor.name) }
            let isFitting = site?.readers.allSatisfy { byName[$0]?.choice.codec.method == .awq } ?? false
            let isSmoothed = recipe.flatMap { recipe in site?.smoothing(by: recipe, byName) } != nil
            let choices = choices(
                planned, isScaled: !isSmoothed && site != nil && !(entry.scaling?.columns.isEmpty ?? true),
                isFitting: isFitting, isCalibrated: calibrated.contains(entry.tensor.name))
            let choice = Choice(codec: entry.tensor.codec.values.fullRequest, reason: entry.reason)
            if !choices.contains(choice) {
                let wanted = choices.first?.words ?? "no columns that are scaled"
                finding.add(entry.tensor.name, "is stored as \(choice.words), but the recipe gives \(wanted)")
            }
        }
        compareStored(&finding)
    }

    private func compare(_ entry: CoverageEntry, _ planned: PlannedWeight, _ finding: inout StructureFinding) {
        let (tensor, source) = (entry.tensor, planned.source)
        finding.compare(
            tensor.name, "its type in source-map.json", "\(tensor.elementType.rawValue)\(tensor.shape)",
            "\(source.elementType.rawValue)\(source.shape)")
        finding.compare(
            tensor.name, "the list of what reads it", entry.readers.joined(separator: ", "),
            planned.readers.joined(separator: ", "))
        func words(_ derivation: Derivation?) -> String {
            guard let derivation else { return "none" }
            let sources = derivation.sources.map { "\"\($0.name)\" \($0.elementType.rawValue)\($0.shape)" }
            return "\(derivation.rule.rawValue) of \(sources.joined(separator: ", "))"
        }
        finding.compare(tensor.name, "its derivation", words(entry.derivation), words(origins.derivations[tensor.name]))
        finding.compare(tensor.name, "copy", entry.copies, origins.copies[tensor.name] ?? []) { "\"\($0)\"" }
    }

    /// A scheme with its reason in the coverage table.
    private struct Choice: Hashable {
        /// The codec with every option written out.
        let codec: String
        let reason: String?
        var words: String { reason.map { "\(codec), because \"\($0)\"" } ?? codec }
    }

    /// The weights with activation statistics, in the parts of the model that the calibration data covered.
    private var calibratedWeights: Set<String> {
        let shown = Set(
            found.filter {
                $0.tensor.codec.method == .awq || $0.reason.flatMap(ScaledWeights.Obstacle.init) != nil
            }.map(\.tensor.name))
        return programs.map(\.multipliedWeights).filter { !$0.isDisjoint(with: shown) }.reduce([]) { $0.union($1) }
    }

    /// Requires that scaled channels cancel out in the model.
    private func compareScalings(_ finding: inout StructureFinding) {
        let recorded = Dictionary(
            found.compactMap { entry in entry.scaling.map { (entry.tensor.name, $0) } }
        ) { first, _ in first }
        if !recorded.isEmpty, ScaledWeights(of: programs, scaled: recorded) == nil {
            finding.add("source-map.json", "the exponents of scaled channels do not cancel out in the model")
        }
    }

    /// Returns the schemes that the recipe allows for a weight. A scheme that needs calibration data falls back to the
    /// same scheme without it if the data does not help; only the data itself can show that.
    private func choices(
        _ planned: PlannedWeight, isScaled: Bool, isFitting: Bool, isCalibrated: Bool
    ) -> [Choice] {
        let (codec, reason) = (planned.choice.codec, planned.choice.reason)
        let asked = Choice(codec: codec.values.fullRequest, reason: reason)
        let without = Choice(codec: codec.dataFree.values.fullRequest, reason: reason)
        // Only awq scales columns, where activations are not smoothed.
        if isScaled { return codec.method == .awq ? [asked] : [] }
        switch codec.method {
        case .nearest: return [asked]
        case .weighted, .gptq: return [asked, without]
        case .awq:
            let obstacles: [ScaledWeights.Obstacle] = isFitting ? [.noSite, .nothingGained] : [.noSite]
            return obstacles.map { Choice(codec: without.codec, reason: $0.rawValue) } + (isCalibrated ? [] : [without])
        }
    }

    /// Compares the tensors that functions read, and their bytes, with the table.
    private func compareStored(_ finding: inout StructureFinding) {
        let byName = Dictionary(graph.tensors.map { ($0.name, $0) }) { first, _ in first }
        for tensor in found.map(\.tensor) {
            guard let stored = byName[tensor.name] else {
                finding.add(tensor.name, "is in source-map.json, but the graph has no such weight")
                continue
            }
            finding.compare(
                tensor.name, "its scheme in weights.bin", stored.codec.specification, tensor.codec.specification)
            if !stored.sections.elementsEqual(tensor.sections, by: { $0.isSame(as: $1) }) {
                finding.add(tensor.name, "weights.bin and source-map.json name different bytes for it")
            }
        }
        finding.compared.append(("coverage row", found.count))
    }
}
