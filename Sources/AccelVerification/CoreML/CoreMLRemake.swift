import AccelByteIO
public import AccelFormats
import AccelPrograms
import AccelTensors
package import AccelWeightCompression

/// A new export of a model with the settings of the package's metadata, and the package's differences from it.
struct CoreMLRemake {
    private(set) var finding = StructureFinding()
    /// The export could be repeated, so that it proves equality without other stages.
    private(set) var isMade = true
    /// The error bounds of the model's weights whose codes it does not determine, by their names.
    private(set) var bounds: [String: RowBound] = [:]
    /// The schemes by which the recipe compresses the model's weights, by their names. A package may store such a weight as plain numbers.
    private(set) var schemes: [String: SchemeTolerance] = [:]
    private var open: [String] { bounds.keys.sorted() }

    /// Returns whether a weight of the package or the model was compared exactly and is equal.
    func proves(_ weight: String) -> Bool {
        let name = CoreMLWeightMatcher.identifier(weight)
        return isMade && finding.differences.isEmpty
            && !open.map(CoreMLWeightMatcher.identifier).contains { name.hasPrefix($0) || name.hasPrefix("_\($0)") }
    }

    /// - Parameter programs: the parts of the model.
    init(of package: CoreMLPackage, from programs: [Program], threads: Int) throws {
        do {
            let exporter = try CoreMLExporter(of: package)
            let functions = try Self.functions(of: package, programs)
            guard var recipe = try package.recipe else {
                throw CoreMLExporter.Unknown(reason: "it does not say by which recipe it was made")
            }
            // Samples tell of no other weights: those keep the nearest codes, and are compared exactly.
            recipe.calibratedWeights = programs.multipliedWeights
            var program = try recipe.compressing(functions, threads: threads)
            schemes = Dictionary(program.weights.map { ($0.tensor.name, SchemeTolerance.line(for: $0.tensor)) }) {
                first, _ in first
            }
            let loss = RowBound.loss(of: program.weights.map(\.tensor))
            for planned in recipe.plan(for: functions) where planned.choice.codec.method.usesStatistics {
                bounds[planned.source.name] = try RowBound(
                    of: planned.source, as: planned.choice.codec, among: loss, threads: threads)
            }
            if package.note("package") != nil {
                program = try program.graph().compressed
            }
            let draft = try exporter.draft(
                of: ExportedModel(program: program, family: "", provenance: [], scalings: package.scalings))
            for difference in try package.differences(from: draft, exceptElementsOf: open) {
                finding.add(difference.name, difference.reason)
            }
            let operations = package.model.program.functions.reduce(0) { $0 + $1.operations.count }
            finding.compared = [("function", package.model.interfaces.count), ("operation", operations)]
            if !open.isEmpty {
                finding.remarks.append(RowBound.words(Wording.count(open.count, "weight"), because: .calibration))
            }
        } catch let mismatch as Mismatch {
            finding.add("accelc.shapes", mismatch.reason)
        } catch let unknown as CoreMLExporter.Unknown {
            isMade = false
            finding.remarks.append(
                "the package was not made again from the model, since \(unknown.reason): programs and codes are held to "
                    + "limits, not compared exactly")
        }
    }

    /// Returns the functions that the package records, frozen to the recorded shapes.
    private static func functions(of package: CoreMLPackage, _ programs: [Program]) throws -> [FrozenProgram] {
        guard let texts = package.note("shapes")?.split(separator: " ") else {
            throw CoreMLExporter.Unknown(reason: "it does not say of which parts and shapes it was made")
        }
        return try texts.map { text in
            let parts = text.split(separator: "[", maxSplits: 1).map(String.init)
            guard let part = parts.first, let program = programs.first(where: { $0.name == part }) else {
                throw Mismatch(reason: "it was made of \(text), and the model has no such part")
            }
            do {
                let bindings =
                    try parts.count == 2 ? ShapeBindings(parsing: String(parts[1].dropLast())) : ShapeBindings()
                return try program.freezing(bindings)
            } catch let error as RequestError {
                throw Mismatch(reason: "it was made of \(text), which the model cannot be: \(error)")
            }
        }
    }

    /// The model is not the recorded source of the package.
    private struct Mismatch: Error {
        let reason: String
    }
}

extension CoreMLPackage {
    /// The package was made by accelc with calibration data, so that codes need not be the nearest.
    var dependsOnCalibration: Bool { (try? recipe)?.needsCalibration ?? false }

    /// The recipe that accelc wrote into the metadata; nil if there is none.
    /// - Throws: `FormatError` for one that cannot be read.
    package var recipe: Recipe? {
        get throws {
            let file = "\(path), accelc.recipe"
            return try note("recipe").map { text in
                try Recipe(JSONField(try JSON.parse(ByteView(Array(text.utf8)), file: file), file: file))
            }
        }
    }

    /// The recorded parts of the source model; empty if the metadata have none.
    public var parts: Set<String> {
        Set((note("shapes") ?? "").split(separator: " ").compactMap { $0.split(separator: "[").first.map(String.init) })
    }

    /// Returns the entry `accelc.NAME` of the metadata.
    func note(_ name: String) -> String? { model.metadata.other.first { $0.name == "accelc.\(name)" }?.content }
}
