import AccelByteIO
import AccelFormats
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors

extension HuggingFaceModel: InspectedSource {
    func inspection(_ request: InspectionRequest) throws -> Inspection {
        if isTensorsOnly, let file = checkpoint.files.first { return Inspection(file, folds: request.folds) }
        let family = try family
        let survey = try ModelSurvey(of: checkpoint, by: family, shapes: request.shapes)
        var inspection = Inspection(checkpoint, family, survey, request)
        if request.graph { inspection.text += "\n\n" + (try Inspection.graphs(of: self).joined(separator: "\n\n")) }
        return inspection
    }
}

extension Inspection {
    /// Inspects a model: its family, its parts with their size and amount of computation, and the tensors that do not
    /// fit.
    init(_ checkpoint: Checkpoint, _ family: any ModelFamily, _ survey: ModelSurvey, _ request: InspectionRequest) {
        let name = type(of: family).modelTypes.first ?? ""
        let architectures = (try? checkpoint.configuration["architectures"].array().map { try $0.string() }) ?? []
        let classes = architectures.isEmpty ? "" : " (\(architectures.joined(separator: ", ")))"
        var overview = [
            "\(checkpoint.folder): family \(name)\(classes), \(Self.size(of: survey.parameters))",
            "  weights: \(checkpoint.files.map { Files.name(of: $0.path) }.joined(separator: ", ")), "
                + "\(Wording.count(checkpoint.tensors.count, "tensor")), \(Self.size(of: checkpoint.tensors))",
            "  assets: \(checkpoint.assets.map(\.name).joined(separator: ", "))",
        ]
        let tokens = TextTokens.summary { name in
            let path = "\(checkpoint.folder)/\(name)"
            return checkpoint.assets.contains { $0.name == name } ? JSONField(try JSON.read(path), file: path) : nil
        }
        if let tokens { overview.append("  text: \(tokens)") }
        var sections = [overview.joined(separator: "\n")]
        sections += survey.parts.map { Self.text(of: $0) }
        let unused = FoldedNames.all(survey.unused, name: \.name, kind: \.reason).flatMap { group in
            group.elements.prefix(1).map { "  \(group.name): \($0.reason)" }
        }
        let missing = FoldedNames.all(survey.missing, name: \.name) { "\($0.shape): \($0.reason)" }.flatMap { group in
            group.elements.prefix(1).map { "  \(group.name) \($0.shape): \($0.reason)" }
        }
        sections.append(
            [
                ("unused tensors", survey.unused.count, unused), ("missing tensors", survey.missing.count, missing),
            ].map { title, count, lines in
                ([lines.isEmpty ? "\(title): none" : "\(title): \(count)"] + lines).joined(separator: "\n")
            }.joined(separator: "\n"))
        if request.tensors { sections.append(Self.table(of: checkpoint.tensors, folds: request.folds)) }
        text = sections.joined(separator: "\n\n")
        warnings = checkpoint.remarks + survey.remarks
        if !survey.missing.isEmpty {
            let count = Wording.count(survey.missing.count, "tensor")
            warnings.append("\(checkpoint.folder): \(count) of its configuration missing, or of another shape")
            status = .corrupt
        }
        json = [
            "kind": "model", "folder": .string(checkpoint.folder), "family": .string(name),
            "model_type": checkpoint.configuration["model_type"].value ?? .null,
            "architectures": .texts(architectures),
            "files": .array(checkpoint.files.map { .string(Files.name(of: $0.path)) }),
            "assets": .array(checkpoint.assets.map { .string($0.name) }),
            "warnings": .texts(warnings),
            "parameters": .int(survey.parameters.count),
            "bytes": .int(survey.parameters.bytes),
            "parts": .array(survey.parts.map { Self.document($0) }),
            "unused": .array(survey.unused.map { ["name": .string($0.name), "reason": .string($0.reason)] }),
            "missing": .array(
                survey.missing.map {
                    ["name": .string($0.name), "shape": .ints($0.shape.dimensions), "reason": .string($0.reason)]
                }),
            "tensors": Self.json(of: checkpoint.tensors),
        ]
    }

    private static func size(of parameters: ModelSurvey.Parameters) -> String {
        "\(Wording.count(parameters.count, "parameter")), \(Wording.bytes(parameters.bytes))"
    }

    private static func text(of part: ModelSurvey.Part) -> String {
        let program = part.program
        let request = part.isDefault ? "" : " (on request: --part \(program.name))"
        var lines = ["part \(program.name): \(size(of: part.parameters))\(request)"]
        lines[0] += ", role \(program.interface.role)"
        lines += ports(of: program, .input, "in     ")
        lines += ports(of: program, .output, "out    ")
        lines += ports(of: program, .state, "state  ")
        lines += dimensions(of: program)
        let work = part.work.map { ["  \($0.bindings)", Wording.grouped($0.multiplyAdds)] }
        lines.append(Text.table(["  frozen to", .number("multiply-adds")], work))
        for remark in part.work.flatMap(\.remarks).map({ "  remark: \($0)" }) where !lines.contains(remark) {
            lines.append(remark)
        }
        return lines.joined(separator: "\n")
    }

    /// Returns a table of the program's free dimensions, and the remarks on them; nothing if all sizes are fixed.
    static func dimensions(of program: Program) -> [String] {
        if program.dimensions.isEmpty { return [] }
        let rows = program.dimensions.map { dimension in
            [
                "  \(dimension.name)", dimension.usual.map(String.init).joined(separator: ", "),
                dimension.maximum.map(String.init) ?? "",
            ]
        }
        let remarks = program.dimensions.flatMap { dimension in
            dimension.remarks.map { remark in
                let (first, last) = (remark.numbers.lowerBound, remark.numbers.upperBound)
                let range = last == dimension.maximum ? "from \(first) on" : "\(first) to \(last)"
                return "  remark: \(dimension.name) \(range): \(remark.text)"
            }
        }
        return [Text.table(["  dimension", "usually", "at most"], rows)] + remarks
    }

    static func ports(of program: Program, _ side: RoleRule.Side, _ head: String) -> [String] {
        let ports = program.ports.filter { $0.side == side }
        return lines(of: ports.map { ($0.name, "\($0.type)") }, side, of: program.interface, head)
    }

    private static func document(_ part: ModelSurvey.Part) -> JSON {
        let program = part.program
        func port(_ name: String, _ value: Value) -> JSON {
            let type = program.type(of: value)
            return [
                "name": .string(name), "dtype": .string(type.elementType.rawValue),
                "shape": .array(
                    type.dimensions.map { $0.value.map { .integer(Int64($0)) } ?? .string($0.description) }),
            ]
        }
        return [
            "name": .string(program.name), "default": .bool(part.isDefault), "interface": program.interface.json,
            "parameters": .int(part.parameters.count), "bytes": .int(part.parameters.bytes),
            "inputs": .array(program.inputs.map { port($0.name, $0.value) }),
            "outputs": .array(program.outputs.map { port($0.name, $0.value) }),
            "states": .array(program.states.map { port($0.name, $0.value) }),
            "dimensions": .array(
                program.dimensions.map {
                    [
                        "name": .string($0.name), "usual": .ints($0.usual),
                        "maximum": .int($0.maximum),
                    ]
                }),
            "frozen": .array(
                part.work.map { work in
                    let numbers = work.bindings.numbers.sorted { $0.key < $1.key }
                    return [
                        "shape": .object(numbers.map { JSON.Member($0.key, .int($0.value)) }),
                        "multiply_adds": .int(work.multiplyAdds),
                        "remarks": .texts(work.remarks),
                    ]
                }),
        ]
    }
}
