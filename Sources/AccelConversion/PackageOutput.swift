import AccelByteIO
import AccelCPURuntime
import AccelPackages
import AccelPrograms

/// The resolved destination of a package: makes, stores and publishes it.
struct PackageOutput: CachedResult {
    let path: String
    let form: PackageDestination.Form
    /// The model's name in listings of the cache.
    let model: String
    /// The limits that the package has to keep to.
    private let profile: DeviceProfile?

    /// - Throws: `RequestError` if the destination is the cache and there is no writable one.
    init(_ destination: PackageDestination, of model: String, for profile: DeviceProfile?, in cache: Cache?) throws {
        (self.model, self.profile) = (model, profile)
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

    /// A finished package in a private folder. The folder is removed with the draft unless it is committed.
    struct Draft {
        let draft: PackageDraft
        /// The package with its files mapped.
        let package: AcceleratorPackage

        init(_ contents: PackageContents, as draft: PackageDraft) throws {
            self.draft = draft
            _ = try draft.write(contents)
            package = try AcceleratorPackage(mapping: draft.folder)
        }
    }

    /// Makes the folder in which the package is written.
    /// - Parameter weights: the names of its weights, sorted.
    func draft(weights: [String]) throws -> PackageDraft {
        try form == .folder
            ? PackageDraft(replacing: path, weights: weights) : PackageDraft(beside: path, weights: weights)
    }

    func find(_ key: CacheKey, in cache: Cache) throws -> AcceleratorPackage? {
        if profile != nil {
            guard let kept = cache.found(cache.opened(key)) else { return nil }
            try require(profile, kept)
        }
        let found =
            switch form {
            case .folder, .archive: try cache.place(key, at: path, asArchive: form == .archive)
            case .cached: cache.opened(key)
            }
        return cache.found(found)
    }

    func store(_ made: Draft, as key: CacheKey, in cache: Cache) {
        cache.store(packageAt: made.draft.folder, for: key, model: model)
    }

    func publish(_ made: Draft) throws -> AcceleratorPackage {
        switch form {
        case .folder: try made.draft.commit()
        case .archive: try PackageWriter.archive(packageAt: made.draft.folder, to: path)
        case .cached: break
        }
        return made.package
    }

    func digest(of product: AcceleratorPackage) -> Digest? { product.digest }
    func digest(under key: CacheKey, in cache: Cache) -> Digest? { try? cache.package(for: key).get().package }
}

extension PackageOutput {
    /// Checks a package against a profile, before it is published.
    /// - Throws: `RequestError` (exceeded) with the limit.
    func require(_ profile: DeviceProfile?, _ package: AcceleratorPackage) throws {
        guard let profile else { return }
        let footprint = try Footprint(of: package.graph, packageBytes: package.byteCount)
        if let excess = profile.excesses(of: footprint).first { throw rejection(excess) }
    }

    /// Checks the weights alone, before they are compressed.
    func require(_ profile: DeviceProfile?, weightBytes: @autoclosure () -> [Int]) throws {
        guard let profile else { return }
        let weights = Footprint(weightBytes: MachineMemory.sum(weightBytes()))
        if let excess = profile.excesses(of: weights).first { throw rejection(excess) }
    }

    private func rejection(_ excess: DeviceProfile.Excess) -> RequestError {
        RequestError("\(model) \(excess)", status: .exceeded, code: .exceedsProfile)
    }
}

extension Diagnostic.Code {
    package static let exceedsProfile: Self = "exceeds-profile"
}
