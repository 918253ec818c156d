import AccelByteIO
public import AccelCPURuntime
import AccelPackages

/// The models of an app on this device, each in one current version. A new version becomes the current one only after every check
/// has passed, in one step that a crash or a power failure cannot divide. If its first run fails, the store goes back.
///
///     let store = try ModelStore(at: folder, profile: .phone, limit: 4 << 30)
///     _ = try await store.update("assistant", from: LocalPackage(path)).value
///     let model = try await AccelModel(.stored("assistant", in: store))
///
/// Several processes may use one store. The store never replaces or removes a file that it has not made.
public actor ModelStore {
    /// The folder.
    public nonisolated let path: String
    /// The limits of every version.
    public nonisolated let profile: DeviceProfile
    /// The check that every version has to pass, when it is received and when it is opened.
    public nonisolated let trust: Trust
    /// How models are opened for checks and for `live`.
    public nonisolated let configuration: Configuration
    /// The most bytes of all versions of all models; nil for no limit.
    public nonisolated let limit: Int?
    nonisolated let folder: StoreFolder
    private nonisolated let thread = WorkThread()
    // Files are read and written on a thread of the store's own.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
    private var lives: [String: [WeakLiveModel]] = [:]

    /// Opens a store, and makes the folder one if it is empty or missing.
    /// - Parameters:
    ///   - trust: what versions have to pass.
    ///   - profile: the limits of every version.
    ///   - limit: the most bytes of all versions of all models; nil for no limit.
    ///   - configuration: how models are opened; its memory, threads and backends are bounded by the profile.
    /// - Throws: `AccelError` (storage) for a folder that is not a store, belongs to others, or cannot be written.
    public init(
        at path: String, trust: Trust = .intact, profile: DeviceProfile = .current, limit: Int? = nil,
        configuration: Configuration = .automatic
    ) throws(AccelError) {
        folder = StoreFolder(root: path)
        (self.path, self.trust, self.profile, self.limit) = (folder.root, trust, profile, limit)
        self.configuration = configuration.bounded(by: profile)
        do { try folder.prepare() } catch { throw AccelError(.storage, "\(error)") }
    }

    /// The models, sorted by name.
    /// - Throws: `AccelError` (corrupt) for a record that was changed.
    public func list() throws(AccelError) -> [StoredModel] {
        try storing { () throws in
            try folder.names().compactMap { name in try folder.record(of: name).map(model) }
        }
    }

    /// Whether the store has a model of this name.
    public func contains(_ name: String) -> Bool { (try? folder.record(of: name)) != nil }

    /// The bytes of all versions of all models.
    public func size() throws(AccelError) -> Int { MachineMemory.sum(try list().map(\.byteCount)) }

    /// A model with its versions.
    /// - Throws: `AccelError` (not found) with the names that there are.
    public func model(_ name: String) throws(AccelError) -> StoredModel { model(try record(of: name)) }

    /// The path of the current version's package. An update may remove it, unless a model from it is open.
    /// - Throws: `AccelError` (not found).
    public func path(of name: String) throws(AccelError) -> String { try model(name).path }

    /// Removes a model with all its versions. Open models stay usable; their files are removed with the next update.
    /// - Throws: `AccelError`: (not found), (busy) while the model is updated.
    public func remove(_ name: String) throws(AccelError) {
        _ = try record(of: name)
        try storing { () throws in
            guard let lock = try folder.beginUpdate(of: name) else { throw AccelError.updating(name) }
            defer { withExtendedLifetime(lock) {} }
            try folder.guarding(name) {
                try folder.removeRecord(of: name)
                folder.removeLeftovers(of: name)
                try folder.sweep(name)
            }
        }
        folder.removeFolder(of: name)
        lives[name] = nil
    }

    /// Makes the version before the current one again. Handles of `live` change over.
    /// - Returns: the model with that version.
    /// - Throws: `AccelError`: (not found) if there is no version before; that of opening it, if it is in use by `live`.
    public func rollBack(_ name: String) async throws(AccelError) -> StoredModel {
        let current = try record(of: name).current
        return try await rollBack(name, from: current)
    }

    /// Goes back, unless the version is not the current one any more.
    func rollBack(_ name: String, from version: Digest) async throws(AccelError) -> StoredModel {
        let record = try record(of: name)
        guard record.current == version else { return model(record) }
        guard let previous = record.earlier.first else {
            throw AccelError(.notFound, "there is no version before \(version)", at: "model \"\(name)\"")
        }
        // Opened first: without it, nothing changes.
        let lease = try storing { () throws in try folder.lease(previous) }
        let opened = liveModels(name).isEmpty ? nil : try await open(previous, of: name)
        let changed = try storing { () throws in
            try folder.guarding(name) {
                guard var record = try folder.record(of: name), record.current == version else { return false }
                record.goBack()
                try folder.write(record)
                try folder.sweep(name)
                return true
            }
        }
        if changed, let opened { try replace(name, by: opened, lease) }
        return try model(name)
    }

    /// A handle that always has the current version, through updates and rollbacks.
    /// - Throws: `AccelError`: (not found), and those of opening a model.
    public func live(_ name: String) async throws(AccelError) -> LiveModel {
        let live = LiveModel(name, try await AccelModel(.stored(name, in: self), configuration: configuration))
        lives[name, default: []].append(WeakLiveModel(live))
        // An update may have come between.
        while try record(of: name).current != live.model.info.package {
            live.replace(try await AccelModel(.stored(name, in: self), configuration: configuration))
        }
        return live
    }

    func liveModels(_ name: String) -> [LiveModel] {
        let living = (lives[name] ?? []).compactMap(\.value)
        lives[name] = living.isEmpty ? nil : living.map(WeakLiveModel.init)
        return living
    }

    /// Gives a version that has just become current to the handles of `live`.
    func replace(_ name: String, by model: AccelModel, _ lease: CacheLease) throws(AccelError) {
        let record = try record(of: name)
        let isTentative = record.standing != .proven
        let lock = isTentative ? folder.beginTrial(of: record.current, name) : nil
        model.keep(use(of: record.current, name, lease, isTentative: isTentative, lock: lock))
        for live in liveModels(name) { live.replace(model) }
    }

    /// The use of a version. If its first run fails, the store goes back.
    nonisolated func use(
        of version: Digest, _ name: String, _ lease: CacheLease, isTentative: Bool, lock: StoreLock?
    ) -> StoreUse {
        StoreUse(of: version, name, in: folder, lease: lease, isTentative: isTentative, lock: lock) { [weak self] _ in
            Task { _ = try? await self?.rollBack(name, from: version) }
        }
    }

    /// Opens a version that may not be the current one.
    func open(_ version: Digest, of name: String) async throws(AccelError) -> AccelModel {
        try await AccelModel(.path(folder.packagePath(of: version, name)), trust: trust, configuration: configuration)
    }

    nonisolated func record(of name: String) throws(AccelError) -> StoreRecord {
        let record = try storing { () throws in try folder.record(of: name) }
        if let record { return record }
        let names = (try? folder.names()) ?? []
        throw AccelError(
            .notFound, "the store has no such model; it has: \(names.isEmpty ? "none" : names.joined(separator: ", "))",
            at: "model \"\(name)\"", hint: AccelError.suggestion(for: name, among: names))
    }

    nonisolated func model(_ record: StoreRecord) -> StoredModel {
        StoredModel(
            name: record.name, version: record.current, earlier: record.earlier,
            isTentative: record.standing != .proven, release: record.releases[record.current],
            path: folder.packagePath(of: record.current, record.name),
            byteCount: MachineMemory.sum(record.versions.map { folder.byteCount(of: $0, record.name) }))
    }

    /// Runs work on files, with its errors as the store's.
    nonisolated func storing<Result>(_ body: () throws -> Result) throws(AccelError) -> Result {
        do { return try body() } catch { throw AccelError(stored: error, at: "store \(path)") }
    }
}

extension StoreRecord {
    /// Drops the current version for the one before. Whether that one runs is seen again.
    mutating func goBack() {
        guard !earlier.isEmpty else { return }
        (current, standing) = (earlier.removeFirst(), .untried)
    }
}

extension AccelError {
    static func updating(_ name: String) -> AccelError {
        AccelError(.busy, "another update of it is under way", at: "model \"\(name)\"")
    }

    /// An error of the store's files: what is missing or cannot be written is no lack of memory.
    init(stored error: any Error, at location: String) {
        self.init(error, at: location)
        if code == .memory, !(error is AccelError) { code = .storage }
    }
}

extension Configuration {
    /// The configuration with the memory and threads that a profile allows at most, and with its backends.
    func bounded(by profile: DeviceProfile) -> Configuration {
        var bounded = self
        bounded.memoryLimit = [memoryLimit, profile.memoryBytes].compactMap { $0 }.min()
        bounded.threads = min(threads, profile.threads ?? threads)
        if !profile.backends.isEmpty {
            let allowed = profile.backends.map(BackendID.init(rawValue:))
            bounded.registry = Backends(registry.all.filter { allowed.contains($0.id) })
            // Of a profile for many devices, a device has some backends.
            let present = allowed.filter { bounded.registry[$0] != nil }
            if bounded.backends == .automatic, !present.isEmpty { bounded.backends = .preferring(present) }
        }
        return bounded
    }
}
