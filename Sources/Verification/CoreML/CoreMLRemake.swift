import ByteIO
public import Exporters
import Programs
import Tensors
import WeightCompression

/// The export of a model made again as the package's metadata say, and what in the package differs from it.
struct CoreMLRemake {
    /// Differences, in words.
    private(set) var differences: [String] = []
    /// Whether it was made, so that nothing else has to prove what it proves.
    private(set) var isMade = true
    /// What the model does not determine, in words.
    private(set) var open: [String] = []

    /// - Parameter programs: the parts of the model.
    init(of package: CoreMLPackage, from programs: [Program], threads: Int) throws {
        do {
            let exporter = try CoreMLExporter(of: package)
            let functions = try Self.functions(of: package, programs)
            let recipe = try Self.recipe(of: package)
            let calibrated = recipe.plan(for: functions).filter { $0.choice.codec.method.isToldOfInputs }
                .map(\.source.name)
            var program = try recipe.compressing(functions, threads: threads)
            if package.note("package") != nil {
                program = try program.graph().compressed
            }
            let draft = try exporter.draft(of: ExportedModel(program: program, family: "", provenance: []))
            differences = try package.differences(from: draft, exceptElementsOf: calibrated)
            if !calibrated.isEmpty {
                open = [
                    "codes of \(Figure.plural(calibrated.count, "weight")) depend on calibration data, which the model does "
                        + "not have: they are held to their digests and limits, not compared code by code"
                ]
            }
        } catch let mismatch as Mismatch {
            differences = [mismatch.reason]
        } catch let unknown as CoreMLExporter.Unknown {
            isMade = false
            open = [
                "the package was not made again from the model, since \(unknown.reason): programs and codes are held to "
                    + "limits, not compared exactly"
            ]
        }
    }

    /// As frozen when the package was made.
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

    /// The model is not the one that the package says it was made of.
    private struct Mismatch: Error {
        let reason: String
    }

    fileprivate static func recipe(of package: CoreMLPackage) throws -> Recipe {
        guard let text = package.note("recipe") else {
            throw CoreMLExporter.Unknown(reason: "it does not say by which recipe it was made")
        }
        let file = "\(package.path), accelc.recipe"
        return try Recipe(JSONField(try JSON.parse(ByteView(Array(text.utf8)), file: file), file: file))
    }
}

extension CoreMLPackage {
    /// Codes of weights that accelc made by calibration data need not be the nearest.
    var dependsOnCalibration: Bool { (try? CoreMLRemake.recipe(of: self))?.wantsCalibration ?? false }

    /// The parts of the model that it was made of; empty where it does not say so.
    public var parts: Set<String> {
        Set((note("shapes") ?? "").split(separator: " ").compactMap { $0.split(separator: "[").first.map(String.init) })
    }

    /// An entry `accelc.NAME` of the metadata.
    func note(_ name: String) -> String? { model.metadata.other.first { $0.name == "accelc.\(name)" }?.content }
}
