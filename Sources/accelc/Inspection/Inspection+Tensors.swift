import AccelByteIO
import AccelTensors

extension Inspection {
    /// Inspects a safetensors file: its tensors.
    init(_ file: SafetensorsFile, folds: Bool) {
        var lines = [
            "\(file.path): \(Wording.count(file.tensors.count, "tensor")), \(Self.size(of: file.tensors))"
        ]
        lines += file.metadata.map { "  \($0.key): \($0.value)" }
        lines.append(Self.table(of: file.tensors, folds: folds))
        text = lines.joined(separator: "\n")
        json = [
            "kind": "safetensors", "file": .string(file.path),
            "metadata": .object(file.metadata.map { JSON.Member($0.key, .string($0.value)) }),
            "tensors": Self.json(of: file.tensors),
        ]
    }

    static func size(of tensors: [StoredTensor]) -> String {
        let elements = tensors.reduce(0) { $0 + $1.shape.count }
        let bytes = tensors.reduce(0) { $0 + $1.bytes.count }
        return "\(Wording.grouped(elements)) elements, \(Wording.bytes(bytes))"
    }

    /// Returns a table of tensors. The size is that of all tensors of a line.
    static func table(of tensors: [StoredTensor], folds: Bool) -> String {
        let rows = folded(tensors, folds: folds, name: \.name) { "\($0.elementType.rawValue)\($0.shape)" }
        return Text.table(
            ["tensor", "type", "shape", .number("size")],
            rows.map { row in
                let bytes = row.elements.reduce(0) { $0 + $1.bytes.count }
                return [
                    row.name, row.elements.first?.elementType.rawValue ?? "",
                    row.elements.first?.shape.description ?? "", Wording.bytes(bytes),
                ]
            })
    }

    static func json(of tensors: [StoredTensor]) -> JSON {
        .array(
            tensors.map {
                .tensor(
                    $0.name, $0.elementType.rawValue, $0.shape.dimensions, [.init("bytes", .int($0.bytes.count))])
            })
    }
}
