@_exported public import AccelByteIO
@_exported public import AccelCPURuntime
// Apps import this module alone: it re-exports the modules to open, check and run accelerator packages.
@_exported public import AccelPackages

extension CachedPackage {
    /// Opens a package in the cache by its key. While the value lives, no process evicts the package.
    ///
    ///     let cached = try CachedPackage.open(key: "ff81aa56...")
    ///     let package = cached.package
    ///
    /// - Parameters:
    ///   - key: the 64 digits that `accelc cache get --json` and `accelc cache list --json` print.
    ///   - trustingOthers: whether to accept a cache that belongs to another user, or that others can write.
    ///   - root: the cache's folder; nil for `$ACCELC_CACHE`, else the platform's folder for caches.
    /// - Throws: `CacheMiss` if the package is missing or corrupt; `RequestError` for a malformed key, and for a cache that
    ///   cannot be written.
    public static func open(
        key: String, cache root: String? = nil, trustingOthers: Bool = false
    ) throws -> CachedPackage {
        guard let digest = Digest(hexadecimal: key) else {
            throw RequestError("\"\(key)\" is no key of a cached package: expected 64 hexadecimal digits")
        }
        guard let root = root ?? Cache.defaultRoot() else {
            throw RequestError("there is no place for a cache; set ACCELC_CACHE", status: .unavailable)
        }
        return try Cache(root: root, trustsOthers: trustingOthers).open(digest).get()
    }
}
