public import AccelByteIO

extension CacheKey {
    /// The key of the packed weights of a package.
    /// - Parameters:
    ///   - package: the package digest, of a package whose bytes have been checked.
    ///   - version: that of the layouts.
    ///   - layouts: those that kernels choose on this processor.
    public init(
        packedWeightsOf package: Digest, version: Int, layouts: String, toolVersion: String = Tool.version
    ) {
        self.init(
            kind: .packedWeights,
            fields: [
                Field("packing version", "\(version)"),
                Field("tool version", toolVersion),
                Field("layouts", layouts),
                Field("package", package.description),
            ])
    }
}

extension Cache {
    /// Returns packed weights that an earlier run has stored, with their bytes verified.
    public func packedWeights(for key: CacheKey) -> Result<ByteView, CacheMiss> {
        content(for: key, of: "packed weights")
    }

    /// Stores a file of packed weights. It stays on this machine: servers get none.
    /// - Parameter path: in the folder of `workPath`; the file may become the cache's own.
    public func store(packedWeightsAt path: String, for key: CacheKey, model: String) {
        _ = writing { folder in
            lease(key.digest)
            var file = try folder.putFile(path, mayLink: true)
            file.path = "packed weights"
            try folder.putRecord(CacheRecord(key: key, files: [file], model: model))
        }
    }
}
