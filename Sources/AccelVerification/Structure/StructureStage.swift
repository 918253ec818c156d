import AccelByteIO
import AccelCPURuntime
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// ST: compares a package with a new conversion of the model. Conversion is deterministic, so with the shapes, the
/// recipe, the codes and the fixed ranges of activations of the package all else has to be the same: interface, initial
/// values of states, operators, attributes, wiring, tables, assets, coverage and provenance.
struct StructureStage {
    /// The contents of the package; for a program in memory, only its graph.
    let found: PackageContents
    let programs: [Program]
    /// The model's files; nil compares only functions and tables.
    let original: OriginalModel?
    /// The package, for a comparison of its files in the end, so that nothing is overlooked; nil if there is no
    /// container.
    let package: AcceleratorPackage?
    /// The functions of a model that has fixed dimensions only.
    private let fixed: [FrozenProgram]
    /// The package was made from another model: its weights may have other types.
    private let isOfAnother: Bool

    init(
        of found: PackageContents, programs: [Program], original: OriginalModel? = nil,
        package: AcceleratorPackage? = nil, fixed: [FrozenProgram] = [], isOfAnother: Bool = false
    ) {
        (self.found, self.programs, self.original, self.package) = (found, programs, original, package)
        (self.fixed, self.isOfAnother) = (fixed, isOfAnother)
    }

    func run() throws -> StructureFinding {
        var finding = StructureFinding()
        if isOfAnother {
            finding.remarks.append(
                "the package was not made of what it is compared with: functions have to be the same, and weights are held to limits, "
                    + "not compared exactly")
        }
        let others = otherVersions
        if !others.isEmpty {
            finding.remarks.append(
                "the package was made with \(others.joined(separator: ", ")): that its graph is the one that a conversion "
                    + "makes now is not required, and the numbers of the other stages have to prove it")
        }
        let functions = FrozenFunctions(
            programs, fixed: fixed, states: found.provenance.states, for: found.graph)
        for (index, function) in found.graph.functions.enumerated() {
            if let reason = functions.reason(index) { finding.add(function.functionName, reason) }
        }
        let parts = found.graph.functions.map(\.program.name)
        for part in programs.map(\.name) where !parts.contains(part) {
            finding.add(part, "the package has no function of this part of the model")
        }
        let positions = parts.compactMap { part in programs.firstIndex { $0.name == part } }
        if !zip(positions, positions.dropFirst()).allSatisfy({ $0 <= $1 }) {
            finding.add("functions", "are not in the order of the model's parts")
        }
        let frozen = functions.frozen.compactMap { $0 }
        let wanted = try graph(frozen)
        var graphs = StructureFinding()
        compareFunctions(functions, wanted, &graphs)
        // Weights and tables belong to all functions together.
        let isWhole = frozen.count == functions.functions.count
        if isWhole { compareTensors(wanted, &graphs) }
        finding.compared += graphs.compared
        if others.isEmpty {
            finding.differences += graphs.differences
        } else {
            finding.remarks += graphs.differences.map { "\($0.name): \($0.reason)" }
        }
        guard let original else { return finding }
        let recipe = recipe(&finding)
        let coverage = CoverageComparison(
            found: found.coverage, graph: found.graph, programs: programs, recipe: recipe, frozen: frozen,
            origins: original.origins)
        if isWhole { try coverage.run(&finding) }
        ProvenanceComparison(found: found, original: original, recipe: recipe, frozen: frozen).run(&finding)
        try compareProbe(&finding)
        if let package, finding.differences.isEmpty { try compareFiles(of: package, wanted, original, &finding) }
        return finding
    }

    /// Returns the graph that a conversion makes of these functions, with the stored weights.
    private func graph(_ functions: [FrozenProgram]) throws -> ModelGraph {
        let functions = try found.provenance.quantizingActivations(in: functions, as: found.graph)
        let names = Set(functions.flatMap { $0.program.constants.filter(\.isWeight).map(\.name) })
        let byName = Dictionary(found.graph.tensors.map { ($0.name, $0) }) { first, _ in first }
        let weights = names.sorted().compactMap { byName[$0] }.map {
            CompressedWeight(tensor: $0, distortion: Distortion(), readers: [])
        }
        return try CompressedProgram(functions: functions, weights: weights).graph()
    }

    private func compareFunctions(
        _ functions: FrozenFunctions, _ wanted: ModelGraph, _ finding: inout StructureFinding
    ) {
        var rest = wanted.functions[...]
        for (function, counterpart) in zip(found.graph.functions, functions.frozen) where counterpart != nil {
            guard let other = rest.popFirst() else { break }
            FunctionComparison(found: function, wanted: other).run(&finding)
        }
        finding.compared += [
            ("function", found.graph.functions.count),
            ("node", found.graph.functions.reduce(0) { $0 + $1.program.nodes.count }),
        ]
    }

    /// Compares names, types and shapes of all tensors, and the bytes of tables. S1 compares the bytes of weights.
    private func compareTensors(_ wanted: ModelGraph, _ finding: inout StructureFinding) {
        let sources = programs.flatMap { $0.constants.filter(\.isWeight) }
        let types = Dictionary(sources.map { ($0.name, "\($0.elementType.rawValue)\($0.shape)") }) { first, _ in first }
        func words(_ weight: CompressedTensor) -> String { "\"\(weight.name)\"" }
        finding.compare("weights", "weight", found.graph.tensors, wanted.tensors, words)
        for (weight, wanted) in zip(found.graph.tensors, wanted.tensors) where weight.name == wanted.name {
            let isTable = types[weight.name] == nil
            let type = types[weight.name] ?? "\(wanted.elementType.rawValue)\(wanted.shape)"
            if isOfAnother, !isTable {
                finding.compare(weight.name, "its shape", "\(weight.shape)", "\(wanted.shape)")
            } else {
                finding.compare(weight.name, "its type", "\(weight.elementType.rawValue)\(weight.shape)", type)
            }
            guard isTable else { continue }
            finding.compare(weight.name, "the table's scheme", weight.codec.specification, wanted.codec.specification)
            if !weight.sections.elementsEqual(wanted.sections, by: { $0.isSame(as: $1) }) {
                finding.add(weight.name, "the table does not hold what the model's conversion computes")
            }
        }
        finding.compared.append(("stored tensor", found.graph.tensors.count))
    }

    private func recipe(_ finding: inout StructureFinding) -> Recipe? {
        let document = found.provenance.recipe
        do {
            var recipe = try found.provenance.parsedRecipe()
            recipe.encoded = original?.encoded.mapValues(\.codec) ?? [:]
            if isOfThisVersion, recipe.json != document {
                finding.add("provenance recipe", "is not written as a conversion writes it: \(recipe.json.text())")
            }
            return recipe
        } catch {
            finding.add("provenance recipe", "\(error)")
            return nil
        }
    }

    private var isOfThisVersion: Bool { found.provenance.isOfThisVersion && otherVersions.isEmpty }

    /// The passes and operators with another version than in this tool, e.g. `version 2 of the pass fold-constants
    /// (here it is 1)`.
    private var otherVersions: [String] {
        let provenance = found.provenance
        var others: [String] = []
        func compare(_ what: String, _ found: Int?, _ own: Int?) {
            guard found != own else { return }
            let version = found.map(String.init) ?? "0"
            others.append("version \(version) of \(what) (here it is \(own.map(String.init) ?? "unknown"))")
        }
        if let original, provenance.family == original.family {
            compare("the family \(provenance.family)", provenance.familyVersion, original.familyVersion)
        }
        let passes = Passes.versions
        for name in Set(passes.keys).union(provenance.passVersions.keys).sorted() {
            compare("the pass \(name)", provenance.passVersions[name], passes[name])
        }
        for (name, version) in (package?.operatorVersions ?? [:]).sorted(by: { $0.key < $1.key }) {
            compare("the operator \(name)", version, Operators.version(of: name))
        }
        return others
    }

    /// Compares the numeric probe, which no file of the model has, with one that is made of the package.
    private func compareProbe(_ finding: inout StructureFinding) throws {
        guard let probe = try package?.probe else { return }
        let model = PreparedModel(try found.graph.planned())
        let made = try PackageProbe(of: found.graph) { try Session(model).run($0, $1) }
        finding.compared.append(("probe", 1))
        guard let reason = probe.difference(from: made) else { return }
        let name = "assets/\(PackageProbe.assetName)"
        if isOfThisVersion { finding.add(name, reason) } else { finding.remarks.append("\(name): \(reason)") }
    }

    /// Compares every file byte for byte, with the package's own choices filled in. This finds differences that the
    /// comparisons before it miss.
    private func compareFiles(
        of package: AcceleratorPackage, _ graph: ModelGraph, _ original: OriginalModel,
        _ finding: inout StructureFinding
    ) throws {
        var wanted = found
        wanted.graph = graph
        wanted.unusedTensors = original.unused
        wanted.keptTensors = original.origins.kept
        wanted.assets = original.assets + found.assets.filter { $0.name == PackageProbe.assetName }
        let names = try package.files(differingFrom: wanted)
        finding.compared.append(("file", package.manifest.files.count + 1))
        for name in names {
            let reason = "its bytes are not those that a conversion writes"
            if isOfThisVersion { finding.add(name, reason) } else { finding.remarks.append("\(name): \(reason)") }
        }
    }
}

extension PackageContents {
    /// A graph that no package holds.
    init(inMemory graph: ModelGraph) {
        self.init(
            graph: graph, coverage: [],
            provenance: Provenance(sources: [], family: "", recipe: .null, shapes: []))
    }
}

extension Provenance {
    /// Reads the recorded recipe.
    /// - Throws: `FormatError` naming the field.
    func parsedRecipe() throws -> Recipe { try Recipe(JSONField(recipe, file: "provenance", path: "recipe")) }

    /// Rounds activations as the recorded recipe requests. A recipe that cannot be read requests nothing; the comparison of
    /// structures reports it.
    /// - Parameter graph: has the fixed ranges, which only calibration data determines: one for each weight.
    func quantizingActivations(in functions: [FrozenProgram], as graph: ModelGraph) throws -> [FrozenProgram] {
        guard let recipe = try? parsedRecipe() else { return functions }
        let ranges = graph.functions.map(\.program.activationRanges)
            .reduce(into: [:]) { $0.merge($1) { first, _ in first } }
        return try functions.map { try $0.quantizingActivations(by: recipe, ranges: ranges) }
    }

    /// The package records that this version of the tool made it.
    var isOfThisVersion: Bool { toolVersion == Tool.version && otherCodecs.isEmpty }

    /// The codecs that this tool has in another version, or not at all, so that it may choose other codes.
    var otherCodecs: Set<String> {
        Set(codecVersions.filter { Codecs.numericsVersions[$0.key] != $0.value }.keys)
    }
}
