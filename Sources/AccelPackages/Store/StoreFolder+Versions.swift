package import AccelByteIO

extension StoreFolder {
    /// The signatures beside a package, by the ends of their names.
    private static let signatureSuffixes = [".sig", ".oms.sig"]
    private static let signatureBytes = 16 << 20
    private static let (fetchedName, versionName, removedName) = ("fetched", "version", "removed")

    /// Makes a folder for the files of a model's new version. It is removed with its last reference.
    package func fetchedFolder(of name: String) throws -> TemporaryFolder {
        try TemporaryFolder(beside: "\(path(of: name))/\(Self.fetchedName)", mode: 0o700)
    }

    /// Receives a package: moves what lies in the fetched folder, copies what lies elsewhere. Its bytes are checked afterwards.
    /// - Parameters:
    ///   - source: a package, a folder or an archive; its signatures may lie beside it.
    ///   - fetched: the path of the folder whose files may be moved.
    /// - Returns: the folder of the version, which is not published yet, and the path of the package in it.
    /// - Throws: `FormatError` for what is no package, or has other files in it; `RequestError` if it cannot be copied.
    package func receive(
        _ source: String, fetchedInto fetched: String, of name: String
    ) throws -> (folder: TemporaryFolder, path: String) {
        let folder = try TemporaryFolder(beside: "\(path(of: name))/\(Self.versionName)", mode: 0o700)
        let target = "\(folder.path)/\(Self.packageName)"
        let source = Files.trimmingSlashes(source)
        let mayMove = Files.realPath(of: source)?.hasPrefix("\(Files.realPath(of: fetched) ?? fetched)/") ?? false
        let package = try AcceleratorPackage(at: source)
        if Files.kind(of: source) == .file {
            try take(source, to: target, mayMove)
        } else {
            try package.checkNames()
            let names = [PackageFormat.manifestName] + package.manifest.files.map(\.name)
            let hasReport = Files.kindWithoutFollowing("\(source)/\(PackageFormat.reportName)") == .file
            for file in names + (hasReport ? [PackageFormat.reportName] : []) {
                // Rejects links, which would lead out of the package.
                _ = try package.files.content(file)
                try Files.makeFolder(Files.parentFolder(of: "\(target)/\(file)") ?? target, mode: 0o700)
                try take("\(source)/\(file)", to: "\(target)/\(file)", mayMove)
            }
        }
        for suffix in Self.signatureSuffixes where Files.kindWithoutFollowing(source + suffix) == .file {
            let signature = try FileContent(source + suffix, atMost: Self.signatureBytes).bytes
            try AtomicFile.write(signature, to: target + suffix, as: .internal, mode: 0o444, isSynced: false)
        }
        return (folder, target)
    }

    private func take(_ source: String, to target: String, _ mayMove: Bool) throws {
        // A file with another name could be written under that name later.
        if mayMove, Files.kindWithoutFollowing(source) == .file, Files.setMode(0o600, of: source),
            Files.writableNames(of: source) == 1
        {
            try Files.rename(source, to: target)
            Files.setMode(0o444, of: target)
        } else {
            try Files.copy(source, to: target, mode: 0o444)
        }
    }

    /// Gives a received version its place. It is current only after a record names it.
    /// - Parameter folder: what `receive` made.
    /// - Returns: the path of its package.
    /// - Throws: `RequestError` if the place holds something that accelc did not put there, or cannot be written.
    package func publish(_ folder: TemporaryFolder, as version: Digest, of name: String) throws -> String {
        let (place, path) = (path(of: version, name), packagePath(of: version, name))
        if try folder.publish(asNew: place, isSynced: true) { return path }
        // An update that was killed, or an earlier version that comes back.
        if isSound(version, of: name) { return path }
        try remove(version, of: name)
        guard try folder.publish(asNew: place, isSynced: true) else {
            throw RequestError(
                "\(place) holds files that accelc has not put there; move them away", status: .unavailable)
        }
        return path
    }

    /// Returns whether a version is in its place, with all its bytes.
    package func isSound(_ version: Digest, of name: String) -> Bool {
        guard let package = try? AcceleratorPackage(at: packagePath(of: version, name)), package.digest == version
        else {
            return false
        }
        return (try? package.check()) != nil
    }

    /// The bytes of a version on disk, signatures included; 0 if it is not there.
    package func byteCount(of version: Digest, _ name: String) -> Int { Self.byteCount(path(of: version, name)) }

    private static func byteCount(_ path: String) -> Int {
        switch Files.kindWithoutFollowing(path) {
        case .folder?: MachineMemory.sum(((try? Files.list(path)) ?? []).map { byteCount("\(path)/\($0)") })
        case .file?: Int(clamping: Files.identity(of: path)?.size ?? 0)
        default: 0
        }
    }

    /// The versions of a model that are on disk, named by a record or not.
    package func versions(of name: String) -> [Digest] {
        ((try? Files.list(path(of: name))) ?? []).compactMap { Digest(hexadecimal: $0) }.filter {
            Files.kindWithoutFollowing(path(of: $0, name)) == .folder
        }
    }

    /// Removes the versions that no record names and nobody has open, and what processes that were killed left of records and locks.
    /// To be called by who guards the model.
    package func sweep(_ name: String) throws {
        for entry in (try? Files.list(path(of: name))) ?? [] {
            let path = "\(path(of: name))/\(entry)"
            let isUnfinished = TemporaryPaths.isSibling(entry, of: Self.recordName)
            if isUnfinished || Self.isTrial(entry) && !FileLock.isHeld(path) { try? Files.removeTree(path) }
        }
        let named = Set(try record(of: name)?.versions ?? []).union(leased())
        for version in versions(of: name) where !named.contains(version) { try remove(version, of: name) }
    }

    /// Removes what updates that were killed left behind. To be called by who has the model's update lock.
    package func removeLeftovers(of name: String) {
        for entry in (try? Files.list(path(of: name))) ?? [] {
            guard let start = TemporaryPaths.start(ofSibling: entry),
                [Self.fetchedName, Self.versionName, Self.removedName].contains(String(start))
            else { continue }
            try? Files.removeTree("\(path(of: name))/\(entry)")
        }
    }

    /// Removes the folder of a model that has no record, unless something is left in it, or an update is under way.
    package func removeFolder(of name: String) {
        guard Self.isName(name) else { return }
        guard Files.kindWithoutFollowing("\(path(of: name))/\(Self.recordName)") == nil, versions(of: name).isEmpty
        else {
            return
        }
        let entries = (try? Files.list(path(of: name))) ?? []
        guard entries.allSatisfy(Self.isRemovable) else { return }
        for entry in entries { try? Files.removeTree("\(path(of: name))/\(entry)") }
        Files.removeEmptyFolder(path(of: name))
    }

    /// Removes a version's files. It is gone as a whole, unless somebody else put files into its folder: these stay.
    private func remove(_ version: Digest, of name: String) throws {
        let place = path(of: version, name)
        guard Files.kindWithoutFollowing(place) == .folder else { return }
        let package = "\(place)/\(Self.packageName)"
        let isFolder = Files.kindWithoutFollowing(package) == .folder
        let contents = isFolder ? PackageFolderContents(of: package) : nil
        let own = Set([Self.packageName] + Self.signatureSuffixes.map { Self.packageName + $0 })
        let beside = try Files.list(place).filter { entry in
            let isFile = Files.kindWithoutFollowing("\(place)/\(entry)") == .file
            return !(own.contains(entry) && isFile || entry == Self.packageName && isFolder)
        }
        if contents?.foreign.isEmpty ?? true, beside.isEmpty {
            let removed = try TemporaryFolder(beside: "\(path(of: name))/\(Self.removedName)", mode: 0o700)
            try Files.rename(place, to: "\(removed.path)/\(version)")
            return
        }
        try contents?.remove()
        for entry in own where Files.kindWithoutFollowing("\(place)/\(entry)") == .file {
            try Files.removeTree("\(place)/\(entry)")
        }
    }
}
