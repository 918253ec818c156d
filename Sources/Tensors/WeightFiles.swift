import ByteIO

/// Finds and opens the safetensors files of a model.
enum WeightFiles {
    static let single = "model.safetensors"
    static let index = "model.safetensors.index.json"

    /// `model.safetensors`, else the shards of `model.safetensors.index.json`, else the only `*.safetensors` there is.
    static func open(inFolder folder: String) throws -> [SafetensorsFile] {
        if Files.kind(of: "\(folder)/\(single)") != nil { return [try open(file: "\(folder)/\(single)")] }
        if Files.kind(of: "\(folder)/\(index)") != nil { return try openShards(index: "\(folder)/\(index)") }
        let names = try Files.list(folder)
        let candidates = names.filter { $0.hasSuffix(".safetensors") }
        if candidates.count == 1 { return [try open(file: "\(folder)/\(candidates[0])")] }
        if candidates.count > 1 {
            throw RequestError(
                "\(folder) has \(candidates.count) safetensors files but neither \(single) nor \(index); name the one to "
                    + "read (\(candidates.prefix(3).joined(separator: ", "))\(candidates.count > 3 ? ", ..." : ""))")
        }
        if let pickle = names.first(where: isPickleName) {
            throw RequestError(
                "\(folder) has its weights in \(pickle) only, a Python pickle, which is never read; \(conversionAdvice)",
                status: .unavailable)
        }
        throw RequestError("\(folder) has no safetensors file", status: .unavailable)
    }

    static func open(file path: String) throws -> SafetensorsFile {
        do {
            return try SafetensorsFile(path)
        } catch let error as FormatError where isPickleName(path) {
            throw FormatError(
                file: path, place: error.place,
                reason: foreignFormat(try MappedFile(path).bytes) != nil
                    ? error.reason : "files of this name are Python pickles, which are never read; \(conversionAdvice)")
        }
    }

    /// Opens the shards that an index names and checks that index and shards agree in every tensor.
    static func openShards(index path: String) throws -> [SafetensorsFile] {
        let document = JSONField(try JSON.read(path), file: path)
        let folder = Files.parentFolder(of: path) ?? "."
        var shardOfTensor: [String: String] = [:]
        var fieldOfShard: [String: JSONField] = [:]
        for (tensor, field) in try document["weight_map"].members() {
            let shard = try field.string()
            guard isRelativeInside(shard), !shard.contains("/") else {
                throw field.error("the shard \(quoted(shard)) has to be the plain name of a file in the same folder")
            }
            guard shard.hasSuffix(".safetensors") else {
                throw field.error(
                    "the shard \(quoted(shard)) is not a safetensors file"
                        + (isPickleName(shard) ? " but a Python pickle, which is never read; \(conversionAdvice)" : ""))
            }
            shardOfTensor[tensor] = shard
            if fieldOfShard[shard] == nil { fieldOfShard[shard] = field }
        }
        guard !fieldOfShard.isEmpty else { throw document["weight_map"].error("it names no tensor") }

        var files: [SafetensorsFile] = []
        var missing = shardOfTensor
        for (shard, field) in fieldOfShard.sorted(by: { $0.key < $1.key }) {
            guard Files.kind(of: "\(folder)/\(shard)") != nil else {
                throw field.error("the shard \(shard) is missing in \(folder)")
            }
            let file = try open(file: "\(folder)/\(shard)")
            for tensor in file.tensors {
                guard let owner = shardOfTensor[tensor.name] else {
                    throw tensor.error("the shard holds this tensor, but \(index) does not list it")
                }
                guard owner == shard else {
                    throw tensor.error("the shard holds this tensor, but \(index) says it is in \(owner)")
                }
                missing[tensor.name] = nil
            }
            files.append(file)
        }
        if let (tensor, shard) = missing.min(by: { $0.key < $1.key }) {
            throw document["weight_map"][tensor].error("the shard \(shard) does not hold this tensor")
        }
        try checkTotalSize(document["metadata"]["total_size"], files)
        return files
    }

    private static func checkTotalSize(_ field: JSONField, _ files: [SafetensorsFile]) throws {
        guard field.exists else { return }
        let stated = try field.double()
        // Each file's tensors fill it: no sum of files that exist overflows.
        let actual = files.reduce(0) { $0 + $1.tensors.reduce(0) { $0 + $1.bytes.count } }
        guard stated == Double(actual) else {
            throw field.error("expected \(actual), the bytes of all tensors in the shards, found \(stated)")
        }
    }
}
