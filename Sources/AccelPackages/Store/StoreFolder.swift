package import AccelByteIO

/// The files of a model store: for each model a folder with its versions and a record that names the current one.
///
///     ROOT/store.json, README                  the marks
///     ROOT/leases/RANDOM                       versions that a process has open
///     ROOT/models/NAME/record.json             `StoreRecord`
///     ROOT/models/NAME/DIGEST/model.accelpkg   a version, a folder or an archive, with its signatures beside it
///
/// A version that no record names is removed by the next update, unless a process has it open. Entries that the store did not make
/// are never replaced or removed.
package struct StoreFolder: Sendable {
    package let root: String
    private static let markName = "store.json"
    private static let readmeName = "README"
    static let recordName = "record.json"
    private static let gateName = "gate"
    private static let updateName = "update.lock"
    private static let trialSuffix = ".trial"
    /// The name of the package in the folder of a version.
    static let packageName = "model.accelpkg"
    private static let markText = #"{"accelc":"model-store","layout":1,"min_reader":1}"# + "\n"
    private static let readmeText = """
        accelc keeps here the models of an app. Each folder below models/ has the versions of one model; record.json says which
        of them is current.

        """

    package init(root: String) { self.root = Files.trimmingSlashes(Files.absolutePath(of: root)) }

    private var modelsPath: String { "\(root)/models" }
    private var leasesPath: String { "\(root)/leases" }
    package func path(of name: String) -> String { "\(modelsPath)/\(name)" }
    func path(of version: Digest, _ name: String) -> String { "\(path(of: name))/\(version)" }
    /// The path of a version's package.
    package func packagePath(of version: Digest, _ name: String) -> String {
        "\(path(of: version, name))/\(Self.packageName)"
    }
    private func recordPath(_ name: String) -> String { "\(path(of: name))/\(Self.recordName)" }

    /// Makes the folder a store, if it is none.
    /// - Throws: `RequestError` for the folder of another program, of another user, or of a newer accelc, or one that cannot be
    ///   written.
    package func prepare() throws {
        if let reason = try unusableReason() { throw RequestError("\(root) \(reason)", status: .unavailable) }
        if Files.holds(Self.markText, at: "\(root)/\(Self.markName)") { return }
        try Files.makeFolder(root, mode: 0o700)
        try Files.makeFolder(modelsPath, mode: 0o700)
        try Files.makeFolder(leasesPath, mode: 0o700)
        for name in [Self.readmeName, Self.markName] { TemporaryPaths.removeAbandoned(beside: "\(root)/\(name)") }
        try AtomicFile.write(Self.readmeText, to: "\(root)/\(Self.readmeName)", as: .internal)
        // The mark comes last: with it, the store is complete.
        try AtomicFile.write(Self.markText, to: "\(root)/\(Self.markName)", as: .internal)
    }

    private func unusableReason() throws -> String? {
        switch Files.kind(of: root) {
        case nil: return nil
        case .folder?: break
        case let kind?: return "is \(kind); name a folder for the store"
        }
        if let access = Files.access(of: root), let reason = CacheFolder.distrust(of: access) {
            return "\(reason); name another folder, or close this one with \"chmod go-w\""
        }
        let mark = "\(root)/\(Self.markName)"
        if Files.kindWithoutFollowing(mark) == .file {
            if Files.holds(Self.markText, at: mark) { return nil }
            let found = (try? JSON.read(mark)).map { JSONField($0, file: mark) }
            if (try? found?["accelc"].string()) == "model-store" { return "is the store of a newer accelc" }
            return "holds a \(Self.markName) that accelc has not written; name an empty or a new folder"
        }
        // What an interrupted `prepare` leaves behind.
        let stranger = try Files.list(root).first { name in
            switch name {
            case Self.readmeName: !Files.holds(Self.readmeText, at: "\(root)/\(name)")
            case "models", "leases": (try? Files.list("\(root)/\(name)")) != []
            default:
                !TemporaryPaths.isSibling(name, of: Self.readmeName)
                    && !TemporaryPaths.isSibling(name, of: Self.markName)
            }
        }
        return stranger.map { "holds \($0), and is no model store; name an empty or a new folder" }
    }

    /// The names of the models, sorted.
    package func names() throws -> [String] {
        guard Files.kind(of: modelsPath) == .folder else { return [] }
        return try Files.list(modelsPath).filter {
            Self.isName($0) && Files.kindWithoutFollowing(recordPath($0)) == .file
        }
    }

    static func isName(_ name: String) -> Bool {
        !name.contains("/") && !name.hasPrefix(".") && name.utf8.count <= 100 && PackageFormat.isSafeName(name)
    }

    /// Checks that a name can be that of a model.
    /// - Throws: `RequestError` for a name that is no plain file name on every platform, or that differs from another model's only in
    ///   case or Unicode form.
    package func check(_ name: String) throws {
        guard Self.isName(name) else {
            throw RequestError(
                "\(quoted(name)) is no name for a model: it has to be a file name of at most 100 bytes without / \\ : and not "
                    + "begin with a dot")
        }
        var names = FileNames()
        for other in try Files.kind(of: modelsPath) == .folder ? Files.list(modelsPath) : [] where other != name {
            _ = names.insert(other)
        }
        if let reason = names.insert(name) { throw RequestError("\(modelsPath): \(reason)") }
    }

    /// The record of a model; nil if the store does not have the model.
    /// - Throws: `FormatError` if it was changed.
    package func record(of name: String) throws -> StoreRecord? {
        guard Self.isName(name) else { return nil }
        let path = recordPath(name)
        guard Files.kindWithoutFollowing(path) != nil else { return nil }
        let record = try StoreRecord(try MappedFile(path, followsLink: false).bytes, file: path)
        guard record.name == name else {
            throw FormatError(file: path, reason: "is the record of \(quoted(record.name))")
        }
        return record
    }

    /// Replaces the record of a model, in one step that a power failure does not undo.
    package func write(_ record: StoreRecord) throws {
        try AtomicFile.write(
            ByteView(Array(record.text.utf8)), to: recordPath(record.name), as: .storeRecord, mode: 0o600)
    }

    /// Removes the record of a model: the store does not have the model any more.
    package func removeRecord(of name: String) throws { try Files.removeTree(recordPath(name)) }

    /// Makes the folder of a model, and keeps other updates of it out while the lock lives.
    /// - Returns: nil if another update of the model is under way.
    package func beginUpdate(of name: String) throws -> StoreLock? {
        try check(name)
        try Files.makeFolder(path(of: name), mode: 0o700)
        return lock(Self.updateName, of: name)
    }

    /// Keeps others from trying a version while the lock lives.
    /// - Returns: nil if another process, or another part of this one, tries it.
    package func beginTrial(of version: Digest, _ name: String) -> StoreLock? {
        lock("\(version)\(Self.trialSuffix)", of: name)
    }

    private func lock(_ file: String, of name: String) -> StoreLock? {
        switch FileLock.attempt("\(path(of: name))/\(file)") {
        case .locked(let lock): StoreLock(lock)
        case .busy: nil
        // Without locks nothing is kept out; records are still replaced as a whole.
        case .unsupported: StoreLock(nil)
        }
    }

    /// Runs `body` while no other process changes the record, or removes versions, of a model.
    package func guarding<Result>(_ name: String, _ body: () throws -> Result) throws -> Result {
        guard Files.kind(of: path(of: name)) == .folder else { return try body() }
        return try FileLock.guarding("\(path(of: name))/\(Self.gateName)", exclusively: true, body)
    }

    /// Keeps a version from being removed while the value lives.
    /// - Throws: `RequestError` if the store cannot be written.
    package func lease(_ version: Digest) throws -> CacheLease {
        guard let lease = CacheLease(in: leasesPath) else {
            throw RequestError("cannot write to \(leasesPath)", status: .unavailable)
        }
        lease.add(version)
        return lease
    }

    func leased() -> Set<Digest> {
        let paths = ((try? Files.list(leasesPath)) ?? []).filter { CacheNames.isRandom($0) }.map {
            "\(leasesPath)/\($0)"
        }
        return CacheLease.keys(of: paths, in: leasesPath, now: WallClock.nanoseconds)
    }

    /// Returns whether an entry in the folder of a model is of no use without a version.
    static func isRemovable(_ entry: String) -> Bool { entry == gateName || isTrial(entry) }

    static func isTrial(_ entry: String) -> Bool {
        entry.hasSuffix(trialSuffix) && Digest(hexadecimal: String(entry.dropLast(trialSuffix.count))) != nil
    }
}

/// A lock that ends with its last reference, or with the process.
package final class StoreLock: Sendable {
    private let lock: FileLock?

    init(_ lock: FileLock?) { self.lock = lock }
}
