import AccelByteIO
import AccelTensors
import TestSupport

extension FuzzTarget {
    static let safetensors = FuzzTarget(name: "safetensors", seeds: Attack.safetensors.map(\.bytes)) { bytes in
        let file = try SafetensorsFile(bytes, file: "fuzz")
        for tensor in file.tensors {
            precondition(file[tensor.name]?.bytes.count == tensor.shape.count * tensor.elementType.byteCount)
            precondition(tensor.shape.strides.count == tensor.shape.rank)
            _ = (tensor.floats(), tensor.doubles(), tensor.integers())
        }
    }

    static let shardIndex = FuzzTarget(
        name: "shard-index",
        seeds: [
            Array(#"{"metadata": {"total_size": 24}, "weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}"#.utf8)
        ]
            + Attack.shardIndexes.map(\.bytes)
    ) { bytes in
        let index = try ShardIndex(parsing: JSONField(JSON.parse(bytes, file: "fuzz"), file: "fuzz"))
        for (name, _) in index.shards { precondition(!name.contains("/") && !name.contains("\\") && name != "..") }
        try index.check([])
    }
}
