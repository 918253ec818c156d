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
        let index = try ShardIndex(parsing: JSONField(JSON.read(path), file: path))
        let folder = Files.parentFolder(of: path) ?? "."
        let files = try index.shards.map { shard, field in
            guard Files.kind(of: "\(folder)/\(shard)") != nil else {
                throw field.error("the shard \(shard) is missing in \(folder)")
            }
            return try open(file: "\(folder)/\(shard)")
        }
        try index.check(files)
        return files
    }
}
