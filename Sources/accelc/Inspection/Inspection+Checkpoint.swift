import ByteIO
import Tensors

extension Inspection {
    /// A safetensors file: its tensors in the order of their bytes.
    init(_ file: SafetensorsFile) {
        var lines = [
            "\(file.path): \(Text.count(file.tensors.count, "tensor")), \(Self.size(of: file.tensors))"
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

    /// A model folder: what it says it is, and all its tensors by name.
    init(_ checkpoint: Checkpoint) {
        let modelType = try? checkpoint.configuration["model_type"].string()
        let architectures = (try? checkpoint.configuration["architectures"].array().map { try $0.string() }) ?? []
        var lines = [
            "\(checkpoint.folder): \(Text.count(checkpoint.tensors.count, "tensor")), \(Self.size(of: checkpoint.tensors))"
        ]
        lines.append("  model type: \(modelType ?? "not said")")
        if !architectures.isEmpty { lines.append("  architectures: \(architectures.joined(separator: ", "))") }
        lines.append("  weights: \(checkpoint.files.map { Files.name(of: $0.path) }.joined(separator: ", "))")
        lines.append("  assets: \(checkpoint.assets.map(\.name).joined(separator: ", "))")
        lines.append(Self.table(of: checkpoint.tensors))
        text = lines.joined(separator: "\n")
        json = [
            "kind": "model", "folder": .string(checkpoint.folder),
            "model_type": modelType.map { .string($0) } ?? .null,
            "architectures": .array(architectures.map { .string($0) }),
            "files": .array(checkpoint.files.map { .string(Files.name(of: $0.path)) }),
            "assets": .array(checkpoint.assets.map { .string($0.name) }),
            "tensors": Self.json(of: checkpoint.tensors),
        ]
    }

    private static func size(of tensors: [StoredTensor]) -> String {
        let elements = tensors.reduce(0) { $0 + $1.shape.count }
        let bytes = tensors.reduce(0) { $0 + $1.bytes.count }
        return "\(Text.grouped(elements)) elements, \(Text.bytes(bytes))"
    }

    private static func table(of tensors: [StoredTensor]) -> String {
        Text.table(
            ["tensor", "type", "shape", "size"],
            tensors.map { [$0.name, $0.elementType.rawValue, $0.shape.description, Text.bytes($0.bytes.count)] },
            [.left, .left, .left, .right])
    }

    private static func json(of tensors: [StoredTensor]) -> JSON {
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
