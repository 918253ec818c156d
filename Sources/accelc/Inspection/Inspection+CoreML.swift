import AccelByteIO
import AccelFormats
import AccelTensors
import AccelVerification
import AccelWeightCompression

extension CoreMLSource: InspectedSource {
    func inspection(_ request: InspectionRequest) throws -> Inspection { try Inspection(self, request) }
}

extension Inspection {
    /// Inspects a Core ML package: its functions, and the encoding of each weight.
    init(_ source: CoreMLSource, _ request: InspectionRequest) throws {
        let (package, model) = (source.package, source.package.model)
        let all = try package.weights
        let weights = all.withoutRepeated
        let matrices = weights.filter { $0.shape.rank >= 2 }
        let plain = matrices.filter { !$0.isCompressed }
        // One that cannot be read is shown as it is.
        let recipe = try? package.recipe
        var parts = [Self.overview(package, recipe, weights)]
        if let recipe, !recipe.rules.isEmpty { parts.append(recipe.table) }
        parts += model.interfaces.map { Self.signature(of: $0, in: package) }
        if request.graph { parts += try Self.graphs(of: source) }
        parts.append(
            Self.schemes("operation", of: weights, by: \.operation, count: \.shape.count, bits: \.storedBits))
        if request.tensors { parts.append(Self.table(weights, request)) }
        if !plain.isEmpty, plain.count < matrices.count {
            let shared = Dictionary(grouping: plain, by: \.name).filter { $0.value.count > 1 }
            func title(_ weight: CoreMLWeight) -> String {
                shared[weight.name] == nil ? weight.name : "\(weight.name) of \(weight.function)"
            }
            let names = FoldedNames.all(plain.sortedByNumbers(title), name: title) { "\($0.shape)" }.map(\.name)
            parts.append(
                "plain numbers: \(Wording.count(plain.count, "weight or table", "weights and tables")) of two or more axes (\(Wording.listed(names)))"
            )
        }
        text = parts.joined(separator: "\n\n")
        json = [
            "kind": "coreml", "path": .string(package.path),
            "specification": .int(model.specificationVersion),
            "target": .text(Self.target(model)),
            "bits_per_weight": .number(Self.bits(weights)), "description": .string(model.metadata.description),
            "metadata": .object(model.metadata.other.map { .init($0.name, .string($0.content)) }),
            "functions": .array(model.interfaces.map { Self.document($0, in: package) }),
            "weights": .array(all.map(Self.document)),
            "not_compressed": .array(plain.map { .string($0.name) }),
        ]
    }

    private static func target(_ model: CoreMLModel) -> String? {
        CoreMLTarget.allCases.first { $0.specificationVersion == model.specificationVersion }?.rawValue
    }

    private static func bits(_ weights: [CoreMLWeight]) -> Double {
        let count = weights.reduce(0) { $0 + $1.shape.count }
        return count == 0 ? 0 : Double(weights.reduce(0) { $0 + $1.storedBits }) / Double(count)
    }

    private static func overview(
        _ package: CoreMLPackage, _ recipe: Recipe?, _ weights: [CoreMLWeight]
    ) -> String {
        let model = package.model
        let bytes = weights.reduce(0) { $0 + $1.storedBits } / 8
        var lines = [
            "\(package.path): Core ML package, specification \(model.specificationVersion)"
                + (target(model).map { " (\($0) and later)" } ?? "")
                + ", weights of \(Wording.bytes(bytes)), \(Text.decimals(bits(weights), 2)) bits per weight"
        ]
        if !model.metadata.description.isEmpty { lines.append("  description: \(model.metadata.description)") }
        // Digests and interfaces are machine-readable entries, which are not shown.
        lines += model.metadata.other.filter {
            !$0.name.hasPrefix("accelc.sha256.") && !CoreMLExporter.machineKeys.contains($0.name)
        }.map { entry in
            "  \(entry.name): \((entry.name == "accelc.recipe" ? recipe?.summary : nil) ?? entry.content)"
        }
        return lines.joined(separator: "\n")
    }

    private static func signature(of interface: CoreMLModel.Interface, in package: CoreMLPackage) -> String {
        var lines = ["function \(interface.function)"]
        let isFree = interface.inputs.contains { !$0.enumeratedShapes.isEmpty || !$0.shapeRanges.isEmpty }
        for (head, features) in [
            ("in   ", interface.inputs), ("state ", interface.states), ("out  ", interface.outputs),
        ] {
            lines += FoldedNames.all(features, name: \.name, kind: { text($0, isFree: isFree) }).flatMap { group in
                group.elements.prefix(1).map { "  \(head)\(group.name) \(text($0, isFree: isFree))" }
            }
        }
        let counts = operations(of: interface.function, in: package)
        lines.append("  operations: " + counts.map { "\($0.name) \($0.count)" }.joined(separator: ", "))
        return lines.joined(separator: "\n")
    }

    /// Returns what a feature is, without its name.
    /// - Parameter isFree: inputs have several shapes; Core ML states none for an output that depends on theirs.
    private static func text(_ feature: CoreMLModel.Feature, isFree: Bool) -> String {
        let type =
            isFree && feature.type.rank == 0
            ? "\(feature.type.dataType.word) of a shape by the input's" : "\(feature.type)"
        let others = feature.enumeratedShapes.filter { $0 != feature.type.sizes }
        let ranges = feature.shapeRanges.map { range in
            range.lowerBound == range.upperBound
                ? "\(range.lowerBound)"
                : "\(range.lowerBound)..\(range.upperBound == .max ? "" : "\(range.upperBound)")"
        }
        return type + (feature.description.isEmpty ? "" : " (\(feature.description))")
            + (others.isEmpty ? "" : " or \(others.map { Shape($0).description }.joined(separator: ", "))")
            + (ranges.isEmpty ? "" : " in [\(ranges.joined(separator: ","))]")
    }

    /// Returns the number of operations of each type in a function, without constants.
    private static func operations(of name: String, in package: CoreMLPackage) -> [(name: String, count: Int)] {
        let operations = package.model.program.functions.first { $0.name == name }?.operations ?? []
        let computed = operations.filter { $0.type != "const" && !$0.type.hasPrefix("constexpr_") }
        return Dictionary(grouping: computed, by: \.type).map { ($0.key, $0.value.count) }.sorted { $0.0 < $1.0 }
    }

    private static func table(_ weights: [CoreMLWeight], _ request: InspectionRequest) -> String {
        func cells(_ weight: CoreMLWeight) -> [String] {
            ["\(weight.shape)", weight.form, Text.decimals(weight.bitsPerWeight, 3)]
        }
        let rows = folded(weights, folds: request.folds, name: \.name) { cells($0).joined(separator: "\t") }
        return Text.table(
            ["weight", "shape", "stored as", .number("bits")],
            rows.map { row in [row.name] + (row.elements.first.map(cells) ?? []) })
    }

    private static func document(_ interface: CoreMLModel.Interface, in package: CoreMLPackage) -> JSON {
        func features(_ features: [CoreMLModel.Feature]) -> JSON {
            .array(
                features.map { feature in
                    [
                        "name": .string(feature.name), "type": .string(feature.type.description),
                        "description": .string(feature.description),
                        "shapes": .array(feature.enumeratedShapes.map { .ints($0) }),
                    ]
                })
        }
        return [
            "name": .string(interface.function), "inputs": features(interface.inputs),
            "outputs": features(interface.outputs), "states": features(interface.states),
            "operations": .object(
                operations(of: interface.function, in: package).map { .init($0.name, .int($0.count)) }),
        ]
    }

    private static func document(_ weight: CoreMLWeight) -> JSON {
        [
            "name": .string(weight.name), "function": .string(weight.function), "type": .string("\(weight.type)"),
            "operation": .string(weight.operation), "form": .string(weight.form),
            "bits_per_weight": .number(weight.bitsPerWeight), "compressed": .bool(weight.isCompressed),
            "repeats": .text(weight.repeats),
        ]
    }
}
