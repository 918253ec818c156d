import AccelByteIO
public import AccelCPURuntime
public import AccelPackages

extension PackedWeights {
    /// Returns the packed weights of a package from the cache, or makes them and stores them there. A run with them has
    /// the same results and packs nothing. Panels of float32 products take four bytes a weight, those of integers one.
    ///
    ///     let program = try package.graph.planned()
    ///     let packed = try cache.flatMap { try PackedWeights.kept(in: $0, for: package, program, threads: 2) }
    ///     let model = PreparedModel(program, packed: packed)
    ///
    /// - Parameter program: the package's plan.
    /// - Returns: nil if no kernel packs weights, or the cache cannot be written.
    /// - Throws: `FormatError` for a package whose bytes are not those of its digests, which is found before its weights are
    ///   packed for the first time; `RequestError` without memory.
    public static func kept(
        in cache: Cache, for package: AcceleratorPackage, _ program: ModelPlan, threads: Int
    ) throws -> PackedWeights? {
        let key = CacheKey(packedWeightsOf: package.digest, version: version, layouts: layouts)
        func found() throws -> PackedWeights? {
            guard let content = cache.found(cache.packedWeights(for: key)) else { return nil }
            return try PackedWeights(content, file: "packed weights in the cache")
        }
        if let packed = try found() { return packed }
        // What is kept under the package's digest has to be of its bytes.
        try package.check()
        guard let path = try? cache.workPath() else { return nil }
        defer { try? Files.removeTree(path) }
        guard try write(of: PreparedModel(program), to: path, threads: threads) else { return nil }
        cache.store(packedWeightsAt: path, for: key, model: Files.name(of: package.path))
        return try found()
    }
}
