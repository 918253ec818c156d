import AccelByteIO
import AccelFormats
import AccelPackages
import AccelPrograms
import AccelTensors

extension Inspection {
    /// Inspects any source: its functions, and the encoding of each weight.
    init(_ source: any ModelSource, _ request: InspectionRequest) throws {
        let weights = try source.weights
        let bytes = weights.reduce(0) { $0 + $1.storedBits } / 8
        var sections = [
            "\(source.path): \(source.format.name), \(Wording.count(weights.count, "tensor")), \(Wording.bytes(bytes))"
        ]
        var functions: [JSON] = []
        if source.abilities.contains(.graph) {
            let model = try source.model()
            let parameters = Dictionary(
                model.programs.flatMap { $0.constants.filter(\.isWeight).map { ($0.name, $0.shape.count) } }
            ) { first, _ in first }
            sections[0] +=
                "\n  family \(model.family), "
                + Wording.count(parameters.values.reduce(0, +), "parameter")
            let assets = try source.assets
            let tokens = TextTokens.summary { name in
                try assets.first { $0.name == name }.map {
                    JSONField(try JSON.parse($0.content, file: name), file: name)
                }
            }
            if let tokens { sections[0] += "\n  text: \(tokens)" }
            for program in model.programs {
                sections.append(Self.text(of: program, graph: request.graph))
                functions.append(["name": .string(program.name), "interface": program.interface.json])
            }
        }
        sections.append(
            Self.schemes("stored as", of: weights, by: \.scheme, count: \.shape.count, bits: \.storedBits))
        if request.tensors {
            let rows = Self.folded(weights, folds: request.folds, name: \.name) { "\($0.shape)\t\($0.scheme)" }
            sections.append(
                Text.table(
                    ["tensor", "shape", "stored as", .number("size")],
                    rows.map { row in
                        let bits = row.elements.reduce(0) { $0 + $1.storedBits }
                        let first = row.elements.first
                        return [
                            row.name, first.map { "\($0.shape)" } ?? "", first?.scheme ?? "", Wording.bytes(bits / 8),
                        ]
                    }))
        }
        text = sections.joined(separator: "\n\n")
        warnings = source.remarks
        json = [
            "kind": .string(source.format.name), "path": .string(source.path), "bytes": .int(bytes),
            "recipe": source.recipe ?? .null, "functions": .array(functions),
            "warnings": .texts(warnings),
            "tensors": .array(
                weights.map { weight in
                    [
                        "name": .string(weight.name),
                        "shape": .ints(weight.shape.dimensions),
                        "stored_as": .string(weight.scheme), "bytes": .int(weight.storedBits / 8),
                    ]
                }),
        ]
    }

    /// Returns a table with a row for each scheme.
    static func schemes<Weight>(
        _ title: TextTable.Column, of weights: [Weight], by scheme: (Weight) -> String, count: (Weight) -> Int,
        bits: (Weight) -> Int
    ) -> String {
        let rows = Dictionary(grouping: weights, by: scheme).sorted { $0.key < $1.key }.map { scheme, weights in
            let (count, bits) = weights.reduce((0, 0)) { ($0.0 + count($1), $0.1 + bits($1)) }
            return [
                scheme, Wording.grouped(weights.count), Wording.grouped(count), Wording.bytes(bits / 8),
                Text.decimals(Double(bits) / Double(max(count, 1)), 3),
            ]
        }
        return Text.table(
            [title, .number("tensors"), .number("weights"), .number("size"), .number("bits")], rows)
    }

    private static func text(of program: Program, graph: Bool) -> String {
        var lines = ["function \(program.name), role \(program.interface.role)"]
        lines += ports(of: program, .input, "in    ") + ports(of: program, .state, "state ")
        lines += ports(of: program, .output, "out   ") + dimensions(of: program)
        if graph { lines += program.lines.dropFirst() }
        return lines.joined(separator: "\n")
    }

    /// Returns the nodes of each function, for sources that format the rest in their own way.
    static func graphs(of source: any ModelSource) throws -> [String] {
        try source.model().programs.map { $0.lines.joined(separator: "\n") }
    }
}
