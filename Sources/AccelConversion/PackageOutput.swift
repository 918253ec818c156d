import AccelByteIO
import AccelPackages

/// A destination with its path known: where a package is made, stored and published.
struct PackageOutput {
    let path: String
    let form: PackageDestination.Form

    /// - Throws: `RequestError` for a package that only the cache is to keep, where there is none that can be written.
    init(_ destination: PackageDestination, in cache: Cache?) throws {
        form = destination.form
        if let path = destination.path {
            self.path = path
        } else {
            guard let cache else {
                throw RequestError("there is no cache to keep the package in", status: .unavailable)
            }
            path = try cache.workPath()
        }
    }

    /// Puts the package there, where an earlier conversion has made it, or another process is about to.
    /// - Returns: the package, or with a miss the claim to be held while it is made.
    func take(_ key: CacheKey?, from cache: Cache?) throws -> (AcceleratorPackage?, CacheClaim?) {
        guard let cache, let key else { return (nil, nil) }
        return try cache.take(key) {
            let found =
                switch form {
                case .folder, .archive: try cache.place(key, at: path, asArchive: form == .archive)
                case .cached: cache.opened(key)
                }
            return try? found.get()
        }
    }

    /// Where the package is made.
    /// - Parameter weights: the names of its weights, sorted.
    func draft(weights: [String]) throws -> PackageDraft {
        try form == .folder
            ? PackageDraft(replacing: path, weights: weights) : PackageDraft(beside: path, weights: weights)
    }

    /// Writes the package, keeps it for later conversions, and publishes it.
    /// - Parameter key: nil where there is no cache.
    /// - Returns: the package, with its files mapped.
    func write(
        _ contents: PackageContents, as draft: PackageDraft, keptIn cache: Cache?, as key: CacheKey?, model: String
    ) throws -> AcceleratorPackage {
        _ = try draft.write(contents)
        let package = try AcceleratorPackage(mapping: draft.folder)
        if let key { cache?.store(packageAt: draft.folder, for: key, model: model) }
        // The folder goes with the draft where it is not committed.
        switch form {
        case .folder: try draft.commit()
        case .archive: try PackageWriter.archive(packageAt: draft.folder, to: path)
        case .cached: break
        }
        return package
    }
}
