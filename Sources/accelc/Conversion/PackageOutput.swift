import ByteIO
import Packages

/// Where a package is to be written, and in which form.
struct PackageOutput {
    static let output = Option(
        "output", .file("OUT.accelpkg"),
        "the package to write; a package of that name is replaced, anything else is not",
        short: "o", isRequired: true)
    static let zip = Option("zip", .flag, "write one zip archive instead of a folder; so does an OUT that ends in .zip")

    enum Form {
        case folder, archive
        /// In the cache only.
        case cached
    }
    let path: String
    let form: Form

    /// - Throws: `RequestError` when something stands there that is not a package of the same form.
    init(_ arguments: Arguments) throws {
        path = try arguments.required(Self.output)
        let isArchive = arguments.has(Self.zip) || path.hasSuffix(".zip")
        form = isArchive ? .archive : .folder
        guard let kind = Files.kindWithoutFollowing(path) else { return }
        guard kind == (isArchive ? .file : .folder), AcceleratorPackage.looksLikePackage(at: path) else {
            throw RequestError(
                "\(path) exists and is \(kind), but no package \(isArchive ? "archive" : "folder") that could be replaced; "
                    + "remove it or choose another name")
        }
    }

    /// Nothing is written but what the cache keeps.
    init(keptIn cache: Cache) throws {
        path = try cache.workPath()
        form = .cached
    }

    /// Puts the package there, where an earlier conversion has made it, or another process is about to.
    /// - Returns: with a miss the claim to be held while the package is made.
    func take(_ key: CacheKey?, from cache: Cache?) throws -> (CacheOutcome, CacheClaim?) {
        guard let cache, let key else { return (.off, nil) }
        let (found, claim) = try cache.take(key) {
            let isPlaced =
                switch form {
                case .folder, .archive: try cache.place(key, at: path, asArchive: form == .archive).isSuccess
                case .cached: cache.obtained(key).isSuccess
                }
            return isPlaced ? true : nil
        }
        return (found == nil ? .miss : .hit, claim)
    }

    /// Where the package is made.
    /// - Parameter weights: the names of its weights, sorted.
    func draft(weights: [String]) throws -> PackageDraft {
        try PackageDraft(replacing: form == .archive ? "\(path).folder" : path, weights: weights)
    }

    /// Writes the package, and keeps it for later conversions.
    /// - Parameter key: nil where there is no cache.
    /// - Returns: the package digest.
    func write(
        _ contents: PackageContents, as draft: PackageDraft, keptIn cache: Cache?, as key: CacheKey?, model: String
    ) throws -> Digest {
        let digest = try draft.write(contents)
        // The folder goes with the draft where it is not committed.
        switch form {
        case .folder: try draft.commit()
        case .archive: try PackageWriter.archive(packageAt: draft.folder, to: path)
        case .cached: break
        }
        if let key { cache?.store(packageAt: form == .folder ? path : draft.folder, for: key, model: model) }
        return digest
    }
}

extension Result {
    var isSuccess: Bool { if case .success = self { true } else { false } }
}
