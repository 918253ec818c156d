import AccelByteIO
import AccelPackages
import AccelTensors

/// Where a package is to be written, and in which form.
struct PackageOutput {
    static let output = Option(
        "output", .output("OUT.accelpkg") { isArchive($0) ? .packageArchive : .package },
        "the package to write (default: MODEL.accelpkg, in the current folder); a package of that name is "
            + "replaced, anything else is not",
        short: "o",
        implied: { arguments in
            arguments[ConversionRequest.model].flatMap(Checkpoint.name).map {
                "\($0).accelpkg\(arguments.has(zip) ? ".zip" : "")"
            }
        })
    static let zip = Option("zip", .flag, "write one zip archive instead of a folder; so does an OUT that ends in .zip")

    enum Form {
        case folder, archive
        /// In the cache only.
        case cached
    }
    let path: String
    let form: Form

    init(_ arguments: Arguments) throws {
        path = try arguments.required(Self.output)
        form = Self.isArchive(arguments) ? .archive : .folder
    }

    private static func isArchive(_ arguments: Arguments) -> Bool {
        arguments.has(zip) || arguments[output]?.hasSuffix(".zip") == true
    }

    /// Nothing is written but what the cache keeps.
    init(keptIn cache: Cache) throws {
        path = try cache.workPath()
        form = .cached
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
