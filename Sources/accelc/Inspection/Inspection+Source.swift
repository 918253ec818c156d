import AccelByteIO
import AccelFormats
import AccelPrograms
import AccelTensors

extension Inspection {
    /// Inspects any source: its functions, and the encoding of each weight.
    init(_ source: any ModelSource, _ request: InspectionRequest) throws {
        let weights = try source.weights
        let bytes = weights.reduce(0) { $0 + $1.storedBits } / 8
        var sections = [
            "\(source.path): \(source.format.name), \(Wording.count(weights.count, "tensor")), \(Text.bytes(bytes))"
        ]
        var functions: [JSON] = []
        if source.abilities.contains(.graph) {
            for program in try source.model().programs {
                sections.append(Self.text(of: program, graph: request.graph))
                functions.append(["name": .string(program.name), "interface": program.interface.json])
            }
        }
        sections.append(
            Text.table(
                ["tensor", "shape", "stored as", "size"],
                weights.map { [$0.name, "\($0.shape)", $0.scheme, Text.bytes($0.storedBits / 8)] },
                [.left, .left, .left, .right]))
        text = sections.joined(separator: "\n\n")
        warnings = source.remarks
        json = [
            "kind": .string(source.format.name), "path": .string(source.path), "bytes": .integer(Int64(bytes)),
            "functions": .array(functions), "warnings": .array(warnings.map { .string($0) }),
            "tensors": .array(
                weights.map { weight in
                    [
                        "name": .string(weight.name),
                        "shape": .array(weight.shape.dimensions.map { .integer(Int64($0)) }),
                        "stored_as": .string(weight.scheme), "bytes": .integer(Int64(weight.storedBits / 8)),
                    ]
                }),
        ]
    }

    private static func text(of program: Program, graph: Bool) -> String {
        var lines = ["function \(program.name)"]
        lines += program.inputs.map { "  in   \($0.name) \(program.type(of: $0.value))" }
        lines += program.states.map { "  state \($0.name) \(program.type(of: $0.value))" }
        lines += program.outputs.map { "  out  \($0.name) \(program.type(of: $0.value))" }
        if graph { lines += program.lines.dropFirst() }
        return lines.joined(separator: "\n")
    }

    /// Returns the nodes of each function, for sources that format the rest in their own way.
    static func graphs(of source: any ModelSource) throws -> [String] {
        try source.model().programs.map { $0.lines.joined(separator: "\n") }
    }
}
