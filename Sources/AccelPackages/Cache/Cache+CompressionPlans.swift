public import AccelByteIO

extension CacheKey {
    /// The key of the compression plan of a target.
    /// - Parameters:
    ///   - package: the key of the package with the request's target. It has all inputs of the search, such as the model's files,
    ///     samples, recipe, target and versions; whatever else it has can only lead to another search.
    ///   - schemes: the schemes that the search chooses from.
    public init(planOf package: CacheKey, schemes: String) {
        self.init(kind: .compressionPlan, fields: [Field("schemes", schemes)] + package.fields)
    }
}

extension Cache {
    /// Returns the files of an earlier search by name, with their bytes verified.
    public func compressionPlan(for key: CacheKey) -> Result<[String: ByteView], CacheMiss> {
        lease(key.digest)
        fetch([key])
        do throws(CacheMiss) {
            if let miss = readingMiss { throw miss }
            var files: [String: ByteView] = [:]
            for file in try folder.record(key.digest).files { files[file.path] = try folder.verifiedBlob(file) }
            noteUse(of: key.digest)
            return .success(files)
        } catch {
            return .failure(error)
        }
    }

    /// Stores the files of a search, once its sources are known not to have changed meanwhile.
    /// - Parameter files: the content of each file, in parts.
    public func store(
        compressionPlan files: [(name: String, parts: [ByteView])], for key: CacheKey, model: String
    ) {
        _ = writing { folder in
            lease(key.digest)
            let stored = try files.map { name, parts in
                var file = try folder.putBlob(parts)
                file.path = name
                return file
            }
            let record = CacheRecord(key: key, files: stored, model: model)
            try folder.putRecord(record)
            remote?.add(record)
        }
    }
}
