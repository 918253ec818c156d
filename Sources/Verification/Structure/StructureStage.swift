import ByteIO
import ModelFamilies
import Packages
import Programs
import Tensors
import WeightCompression

/// ST: what a package is, against what converting the model again makes. Conversion is deterministic, so with the shapes,
/// the recipe and the codes of the package all else has to be the same: interface, initial values of states, operators,
/// attributes, wiring, memory, tables, assets, coverage and provenance.
struct StructureStage {
    /// What the package was made of; of a program in memory, the program alone.
    let found: PackageContents
    let programs: [Program]
    /// What there is to know of the model's files; nil: functions and tables are compared, and nothing else.
    let original: OriginalModel?
    /// Compared file by file in the end, so that nothing is overlooked; nil: there is no container.
    let package: AcceleratorPackage?

    init(
        of found: PackageContents, programs: [Program], original: OriginalModel? = nil,
        package: AcceleratorPackage? = nil
    ) {
        (self.found, self.programs, self.original, self.package) = (found, programs, original, package)
    }

    func run() throws -> StructureFinding {
        var finding = StructureFinding()
        let functions = FrozenFunctions(programs, for: found.program)
        for (index, function) in found.program.functions.enumerated() {
            if let reason = functions.reason(index) { finding.add(function.name, reason) }
        }
        let parts = found.program.functions.map(\.part)
        for part in programs.map(\.name) where !parts.contains(part) {
            finding.add(part, "the package has no function of this part of the model")
        }
        let places = parts.compactMap { part in programs.firstIndex { $0.name == part } }
        if !zip(places, places.dropFirst()).allSatisfy({ $0 <= $1 }) {
            finding.add("functions", "are not in the order of the model's parts")
        }
        let frozen = functions.frozen.compactMap { $0 }
        let compiled = try Self.compiled(frozen, stored: found.program.weights)
        compareFunctions(functions, compiled, &finding)
        // Weights and tables are those of all functions.
        let isWhole = frozen.count == functions.functions.count
        if isWhole { compareWeights(compiled, &finding) }
        guard let original else { return finding }
        let recipe = recipe(&finding)
        let coverage = CoverageComparison(
            found: found.coverage, program: found.program, programs: programs, recipe: recipe, frozen: frozen,
            origins: original.origins)
        if isWhole { try coverage.run(&finding) }
        ProvenanceComparison(found: found, original: original, recipe: recipe, frozen: frozen).run(&finding)
        if let package, finding.differences.isEmpty { try compareFiles(of: package, compiled, original, &finding) }
        return finding
    }

    /// The program that a conversion makes of these functions, with the weights as they are stored.
    private static func compiled(
        _ functions: [FrozenProgram], stored: [CompressedTensor]
    ) throws -> CompiledProgram {
        let names = Set(functions.flatMap { $0.program.constants.filter(\.isWeight).map(\.tensor.name) })
        let byName = Dictionary(stored.map { ($0.name, $0) }) { first, _ in first }
        let weights = names.sorted().compactMap { byName[$0] }.map {
            CompressedWeight(tensor: $0, distortion: Distortion(), readers: [])
        }
        return try CompressedProgram(functions: functions, weights: weights).compiled()
    }

    private func compareFunctions(
        _ functions: FrozenFunctions, _ compiled: CompiledProgram, _ finding: inout StructureFinding
    ) {
        let (names, wantedNames) = (found.program.weights.map(\.name), compiled.weights.map(\.name))
        var wanted = compiled.functions[...]
        for (function, counterpart) in zip(found.program.functions, functions.frozen) where counterpart != nil {
            guard let other = wanted.popFirst() else { break }
            FunctionComparison(
                found: function, wanted: other, foundWeights: names, wantedWeights: wantedNames
            ).run(&finding)
        }
        finding.compared += [
            ("function", found.program.functions.count),
            ("call", found.program.functions.reduce(0) { $0 + $1.calls.count }),
        ]
    }

    /// Names, types and shapes of all that operands count into, and the bytes of tables; those of weights are for S1.
    private func compareWeights(_ compiled: CompiledProgram, _ finding: inout StructureFinding) {
        let sources = programs.flatMap { $0.constants.filter(\.isWeight).map(\.tensor) }
        let types = Dictionary(sources.map { ($0.name, "\($0.elementType.rawValue)\($0.shape)") }) { first, _ in first }
        func words(_ weight: CompressedTensor) -> String { "\"\(weight.name)\"" }
        finding.compare("weights", "weight", found.program.weights, compiled.weights, words)
        for (weight, wanted) in zip(found.program.weights, compiled.weights) where weight.name == wanted.name {
            let isTable = types[weight.name] == nil
            let type = types[weight.name] ?? "\(wanted.elementType.rawValue)\(wanted.shape)"
            finding.compare(weight.name, "its type", "\(weight.elementType.rawValue)\(weight.shape)", type)
            guard isTable else { continue }
            finding.compare(weight.name, "the table's scheme", weight.codec.specification, wanted.codec.specification)
            if !weight.sections.elementsEqual(wanted.sections, by: { $0.isSame(as: $1) }) {
                finding.add(weight.name, "the table does not hold what the model's conversion computes")
            }
        }
        finding.compared.append(("stored tensor", found.program.weights.count))
    }

    private func recipe(_ finding: inout StructureFinding) -> Recipe? {
        let document = found.provenance.recipe
        do {
            let recipe = try Recipe(JSONField(document, file: "provenance", path: "recipe"))
            if isOfThisVersion, recipe.json != document {
                finding.add("provenance recipe", "is not written as a conversion writes it: \(recipe.json.text())")
            }
            return recipe
        } catch {
            finding.add("provenance recipe", "\(error)")
            return nil
        }
    }

    private var isOfThisVersion: Bool { found.provenance.isOfThisVersion }

    /// Every file byte for byte, with the package's own choices filled in: what no comparison before has seen shows here.
    private func compareFiles(
        of package: AcceleratorPackage, _ compiled: CompiledProgram, _ original: OriginalModel,
        _ finding: inout StructureFinding
    ) throws {
        var wanted = found
        wanted.program = compiled
        wanted.unusedTensors = original.unused
        wanted.keptTensors = original.origins.kept
        wanted.assets = original.assets
        let names = try package.files(differingFrom: wanted)
        finding.compared.append(("file", package.manifest.files.count + 1))
        for name in names {
            let reason = "its bytes are not those that a conversion writes"
            if isOfThisVersion { finding.add(name, reason) } else { finding.remarks.append("\(name): \(reason)") }
        }
    }
}

extension PackageContents {
    /// A compiled program that no package holds.
    init(inMemory program: CompiledProgram) {
        self.init(
            program: program, coverage: [],
            provenance: Provenance(sources: [], family: "", recipe: .null, shapes: []))
    }
}

extension Provenance {
    /// Whether this version of the tool says to have made the package.
    var isOfThisVersion: Bool { toolVersion == Tool.version && numericsVersion == Tool.numericsVersion }
}
