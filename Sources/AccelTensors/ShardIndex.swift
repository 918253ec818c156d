package import AccelByteIO

/// `model.safetensors.index.json`: the assignment of tensors to shards. `init` checks that every shard is a plain name
/// of a safetensors file.
package struct ShardIndex {
    /// The shards sorted by name, each with the first field that names it.
    package let shards: [(name: String, field: JSONField)]
    /// The shard of each tensor.
    let shardOfTensor: [String: String]
    private let document: JSONField

    package init(parsing document: JSONField) throws {
        self.document = document
        var shardOfTensor: [String: String] = [:]
        var fieldOfShard: [String: JSONField] = [:]
        let map = document["weight_map"]
        for (tensor, field) in try map.members() {
            let shard = try field.string()
            guard isRelativeInside(shard), !shard.contains("/") else {
                throw field.error("the shard \(quoted(shard)) has to be the plain name of a file in the same folder")
            }
            guard shard.hasSuffix(".safetensors") else {
                throw field.error(
                    "the shard \(quoted(shard)) is not a safetensors file"
                        + (isPickleName(shard) ? " but a Python pickle, which is never read" : ""))
            }
            shardOfTensor[tensor] = shard
            if fieldOfShard[shard] == nil { fieldOfShard[shard] = field }
        }
        guard !fieldOfShard.isEmpty else { throw map.error("it names no tensor") }
        self.shardOfTensor = shardOfTensor
        var names = FileNames()
        for (shard, field) in fieldOfShard.sorted(by: { $0.key < $1.key }) {
            if let flaw = names.insert(shard) { throw field.error(flaw) }
        }
        shards = fieldOfShard.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Checks that the shards contain exactly the tensors of the index, each once.
    /// - Parameter files: one for each of `shards`.
    package func check(_ files: [SafetensorsFile]) throws(FormatError) {
        var missing = shardOfTensor
        for (shard, file) in zip(shards, files) {
            for tensor in file.tensors {
                guard let owner = shardOfTensor[tensor.name] else {
                    throw tensor.error("the shard holds this tensor, but \(document.file) does not list it")
                }
                guard owner == shard.name else {
                    throw tensor.error("the shard holds this tensor, but \(document.file) says it is in \(owner)")
                }
                missing[tensor.name] = nil
            }
        }
        if let (tensor, shard) = missing.min(by: { $0.key < $1.key }) {
            throw document["weight_map"][tensor].error("the shard \(shard) does not hold this tensor")
        }
        try checkTotalSize(files)
    }

    private func checkTotalSize(_ files: [SafetensorsFile]) throws(FormatError) {
        let field = document["metadata"]["total_size"]
        guard field.exists else { return }
        // Cannot overflow, because the tensors of each file fit into it.
        let actual = files.reduce(0) { $0 + $1.tensors.reduce(0) { $0 + $1.bytes.count } }
        let isRight =
            switch field.value {
            case .integer(let stated): stated == Int64(actual)
            case .number(let stated): stated == Double(actual)
            default: false
            }
        guard isRight else { throw field.error("expected \(actual), the bytes of all tensors in the shards") }
    }
}
