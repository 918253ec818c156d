import ByteIO
import Packages

/// Where a package is to be written, and in which form.
struct PackageOutput {
    static let output = Option(
        "output", .file("OUT.accelpkg"),
        "the package to write; a package of that name is replaced, anything else is not",
        short: "o", isRequired: true)
    static let zip = Option("zip", .flag, "write one zip archive instead of a folder; so does an OUT that ends in .zip")

    let path: String
    let isArchive: Bool

    /// - Throws: `RequestError` when something stands there that is not a package of the same form.
    init(_ arguments: Arguments) throws {
        path = try arguments.required(Self.output)
        isArchive = arguments.has(Self.zip) || path.hasSuffix(".zip")
        guard let kind = Files.kindWithoutFollowing(path) else { return }
        guard kind == (isArchive ? .file : .folder), AcceleratorPackage.looksLikePackage(at: path) else {
            throw RequestError(
                "\(path) exists and is \(kind), but no package \(isArchive ? "archive" : "folder") that could be replaced; "
                    + "remove it or choose another name")
        }
    }

    /// Puts the package there, where an earlier conversion has made it, or another process is about to.
    /// - Returns: with a miss the claim to be held while the package is made.
    func take(_ key: CacheKey?, from cache: Cache?) throws -> (CacheOutcome, CacheClaim?) {
        guard let cache, let key else { return (.off, nil) }
        func isPlaced() throws -> Bool {
            if case .success = try cache.place(key, at: path, asArchive: isArchive) { true } else { false }
        }
        if try isPlaced() { return (.hit, nil) }
        let claim = cache.claim(key)
        return try claim.hasWaited && isPlaced() ? (.hit, nil) : (.miss, claim)
    }

    /// Where the package is made.
    /// - Parameter weights: the names of its weights, sorted.
    func draft(weights: [String]) throws -> PackageDraft {
        try PackageDraft(replacing: isArchive ? "\(path).folder" : path, weights: weights)
    }

    /// Writes the package, and keeps it for later conversions.
    /// - Parameter key: nil where there is no cache.
    func write(
        _ contents: PackageContents, as draft: PackageDraft, keptIn cache: Cache?, as key: CacheKey?, model: String
    ) throws {
        _ = try draft.write(contents)
        if isArchive {
            // The folder is not committed: it goes when the archive is there.
            try PackageWriter.archive(packageAt: draft.folder, to: path)
        } else {
            try draft.commit()
        }
        if let key { cache?.store(packageAt: isArchive ? draft.folder : path, for: key, model: model) }
    }
}
