import AccelByteIO

/// Finds and opens the safetensors files of a model.
extension ModelFiles {
    private static let single = "model.safetensors"
    private static let index = "model.safetensors.index.json"

    /// Returns `model.safetensors`, or the shards of `model.safetensors.index.json`, or the only `*.safetensors` file.
    func weightFiles() throws -> [SafetensorsFile] {
        if has(Self.single) { return [try weights(Self.single)] }
        if has(Self.index) { return try shards(of: Self.index) }
        let names = try names()
        let candidates = names.filter { $0.hasSuffix(".safetensors") }
        if let shard = candidates.lazy.compactMap(ShardName.init).first(where: { $0.count > 1 }) {
            let missing = (1...shard.count).map { shard.name(of: $0) }.filter { !candidates.contains($0) }
            let parts =
                missing.isEmpty ? "" : ", and so \(missing.count == 1 ? "is" : "are") \(Wording.listed(missing))"
            throw RequestError(
                "\(folder): \(shard.name(of: shard.number)) is one of \(shard.count) shards, whose index \(shard.index) is missing\(parts): "
                    + "get the whole model", status: .unavailable)
        }
        if candidates.count == 1 { return [try weights(candidates[0])] }
        if candidates.count > 1 {
            throw RequestError(
                "\(folder) has \(candidates.count) safetensors files but neither \(Self.single) nor \(Self.index); name "
                    + "the one to read (\(Wording.listed(candidates)))")
        }
        // Some repositories have their ONNX models in a folder of this name.
        let others = names + paths(in: "onnx")
        for format in [ForeignFormat.gguf, .pickle, .onnx, .hdf5] {
            guard let name = others.first(where: { ForeignFormat(named: $0) == format }) else { continue }
            throw RequestError(
                "\(folder) has its weights in \(name) only, which is \(format.title)", status: .unavailable,
                code: format == .pickle ? .pickledWeights : nil)
        }
        throw RequestError(
            "\(folder) has no safetensors file: give the folder of a model, with config.json and *.safetensors",
            status: .unavailable)
    }

    /// Returns the tensors of the dense layers that modules.json lists, named after their folders, such as `2_Dense.linear.weight`.
    /// Mistakes in modules.json are errors of whoever builds the modules.
    func moduleTensors() throws -> [StoredTensor] {
        var folders: Set<String> = []
        for module in (try? document("modules.json")?.array()) ?? [] {
            guard let type = try? module["type"].string(), type.split(separator: ".").last == "Dense",
                let path = try? module["path"].string(), isRelativeInside(path), has("\(path)/\(Self.single)")
            else { continue }
            folders.insert(path)
        }
        return try folders.sorted().flatMap { path in
            try weights("\(path)/\(Self.single)", prefix: "\(path).").tensors.map { $0.renamed("\(path).\($0.name)") }
        }
    }

    /// Returns the weight files for one file of the folder: itself, or the shards that it lists.
    func weightFiles(at path: String) throws -> [SafetensorsFile] {
        let name = Files.name(of: path)
        return try name.hasSuffix(".safetensors.index.json") ? shards(of: name) : [weights(name, at: path)]
    }

    /// Opens the shards of an index, and checks that index and shards agree on every tensor.
    private func shards(of name: String) throws -> [SafetensorsFile] {
        guard let document = try document(name, as: .index) else {
            throw RequestError("there is no file \(path(of: name))", status: .unavailable)
        }
        let index = try ShardIndex(parsing: document)
        let files = try index.shards.map { shard, field in
            guard has(shard) else {
                var error = field.error(
                    "the shard \(shard) is missing in \(folder): get it too, all shards hold a part of the weights")
                error.exitStatus = .unavailable
                throw error
            }
            return try weights(shard)
        }
        try index.check(files)
        return files
    }
}
