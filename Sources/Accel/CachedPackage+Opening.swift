import AccelByteIO
@_exported public import AccelCPURuntime
/// What an app links to open, check and run accelerator packages: this module has `AccelPackages` and `AccelCPURuntime` in it.
@_exported public import AccelPackages

extension CachedPackage {
    /// Opens a package where it lies in the cache, by its key. While the value lives, no clean-up of this or another process
    /// takes the package away.
    ///
    ///     let cached = try CachedPackage.open(key: "ff81aa56...")
    ///     let package = cached.package
    ///
    /// - Parameters:
    ///   - key: the 64 digits that `accelc cache get --json` and `accelc cache list --json` print.
    ///   - trustingOthers: whether the cache may belong to another user, or be written by others.
    ///   - cache: the cache's folder; nil: `$ACCELC_CACHE`, else the platform's folder for caches.
    /// - Throws: `CacheMiss` when the package is not there, or not whole; `RequestError` for a key that is none, and for a
    ///   cache that cannot be written.
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
