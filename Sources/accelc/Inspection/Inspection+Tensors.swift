import AccelByteIO
import AccelTensors

extension Inspection {
    /// Inspects a safetensors file: its tensors in the order of their bytes.
    init(_ file: SafetensorsFile) {
        var lines = [
            "\(file.path): \(Wording.count(file.tensors.count, "tensor")), \(Self.size(of: file.tensors))"
        ]
        lines += file.metadata.map { "  \($0.key): \($0.value)" }
        lines.append(Self.table(of: file.tensors))
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
        return "\(Wording.grouped(elements)) elements, \(Text.bytes(bytes))"
    }

    static func table(of tensors: [StoredTensor]) -> String {
        Text.table(
            ["tensor", "type", "shape", "size"],
            tensors.map { [$0.name, $0.elementType.rawValue, $0.shape.description, Text.bytes($0.bytes.count)] },
            [.left, .left, .left, .right])
    }

    static func json(of tensors: [StoredTensor]) -> JSON {
        .array(
            tensors.map { tensor in
                [
                    "name": .string(tensor.name), "dtype": .string(tensor.elementType.rawValue),
                    "shape": .array(tensor.shape.dimensions.map { .integer(Int64($0)) }),
                    "bytes": .integer(Int64(tensor.bytes.count)),
                ]
            })
    }
}
