public import AccelByteIO
import AccelPlatform

/// Results of earlier conversions on disk, shared by all processes. No conversion depends on it: a cache that is
/// missing, damaged, read-only or full costs time only.
public final class Cache: Sendable {
    /// The folder of the cache.
    public var root: String { folder.root }
    let folder: CacheFolder
    let patience: CachePatience
    let remote: RemoteCache?
    private let clock: @Sendable () -> Int64
    let warn: @Sendable (Diagnostic) -> Void
    let state = Locked(State())

    struct State {
        /// The folder is a valid cache, at least when it was last checked.
        var isPrepared = false
        var hasWarned = false
        var hasWarnedOfDamage = false
        /// The cause of a failure, after which nothing is written.
        var failure: String?
        /// The records that the cache server has supplied.
        var received: Set<Digest> = []
        /// The outer optional is nil before the first use, the inner one if there can be no lease.
        var lease: CacheLease??
    }

    /// Creates a cache; no file is touched yet.
    /// - Parameters:
    ///   - durability: the guarantee for new results after a power failure.
    ///   - remote: a server that supplies missing results, and receives new ones.
    ///   - patience: the time to wait for other processes that make the same result.
    ///   - trustsOthers: allows a cache that belongs to another user or that others may write to, and thereby lets them
    ///     determine the results of conversions.
    ///   - clock: returns nanoseconds since 1970; replaced in tests.
    ///   - warn: called with a sentence, once if the cache cannot be written, and once if it has damaged results.
    public init(
        root: String, durability: CacheDurability = .none, remote: RemoteCache? = nil, patience: CachePatience = .usual,
        trustsOthers: Bool = false, clock: (@Sendable () -> Int64)? = nil,
        warn: @escaping @Sendable (Diagnostic) -> Void = { _ in }
    ) {
        folder = CacheFolder(root: root, durability: durability, trustsOthers: trustsOthers)
        self.patience = patience
        self.remote = remote
        self.clock = clock ?? { WallClock.nanoseconds }
        self.warn = warn
    }

    /// Returns the default location: `$ACCELC_CACHE`, or the platform's folder for caches.
    /// - Parameter environment: nil for that of the process.
    /// - Returns: Nil if the environment defines neither the variable nor a home folder.
    public static func defaultRoot(_ environment: [String: String]? = nil) -> String? {
        func value(_ name: String) -> String? {
            environment.map { $0[name].flatMap { $0.isEmpty ? nil : $0 } } ?? ProcessEnvironment.text(name)
        }
        if let root = value("ACCELC_CACHE") { return root }
        #if canImport(Darwin)
            return value("HOME").map { "\($0)/Library/Caches/accelc" }
        #else
            return value("XDG_CACHE_HOME").map { "\($0)/accelc" } ?? value("HOME").map { "\($0)/.cache/accelc" }
        #endif
    }

    /// Returns whether a folder is a cache of accelc, complete or not. Nothing else is written there.
    public static func isCache(_ folder: String) -> Bool { CacheFolder(root: folder).isTagged }

    var now: Int64 { clock() }

    /// Returns an unused path in the cache's file system, for something that will be stored.
    /// - Throws: `RequestError` if the cache cannot be written.
    public func workPath() throws -> String {
        try prepare()
        try folder.makeFolder(folder.workPath)
        return "\(folder.workPath)/\(CacheNames.random())"
    }

    /// The cause for which nothing can be read from the cache; nil if it can be read.
    var readingMiss: CacheMiss? {
        if state.withLock({ $0.isPrepared }) { return nil }
        if let reason = folder.unusableReason() { return CacheMiss(.unusable(reason)) }
        if folder.standing == .cache {
            folder.close()
            state.withLock { $0.isPrepared = true }
        }
        return nil
    }

    /// Turns the folder into a cache if it is not one; nothing is written to folders of other kinds.
    private func prepare() throws {
        if state.withLock({ $0.isPrepared }) { return }
        if let reason = folder.unusableReason() { throw RequestError(reason, status: .unavailable) }
        try folder.prepare()
        folder.close()
        state.withLock { $0.isPrepared = true }
    }

    /// The folder is a cache, or could be turned into one.
    var isPrepared: Bool { writing { _ in true } ?? (readingMiss == nil && folder.standing == .cache) }

    /// Runs an operation that writes to the cache. After a failure nothing more is written, because a full disk stays
    /// full.
    @discardableResult
    func writing<Result>(_ body: (CacheFolder) throws -> Result) -> Result? {
        if state.withLock({ $0.failure }) != nil { return nil }
        do {
            try prepare()
            return try body(folder)
        } catch is CacheMiss {
            // Another process evicted the files; the cache is still valid.
            return nil
        } catch {
            report(
                Diagnostic(
                    "the cache at \(root) is not \(readingMiss == nil ? "written to" : "used"): \(error)",
                    code: (error as? any ReportedError)?.diagnostic.code))
            state.withLock { $0.failure = "\(error)" }
            return nil
        }
    }

    /// Warns, at most once.
    private func report(_ warning: Diagnostic) {
        let isFirst = state.withLock { state in
            defer { state.hasWarned = true }
            return !state.hasWarned
        }
        if isFirst { warn(warning) }
    }

    /// Returns what a look-up has found; nil if it has to be made. Damage is warned of, at most once.
    package func found<Found>(_ outcome: Result<Found, CacheMiss>) -> Found? {
        switch outcome {
        case .success(let found): return found
        case .failure(let miss):
            if miss.reason.isDamage { reportDamage(miss.reason, mending: "made again") }
            return nil
        }
    }

    /// Warns of a damaged result, at most once.
    /// - Parameter mending: what is done about it, after "and is".
    func reportDamage(_ reason: CacheMiss.Reason, mending: String) {
        let isFirst = state.withLock { state in
            defer { state.hasWarnedOfDamage = true }
            return !state.hasWarnedOfDamage
        }
        guard isFirst else { return }
        warn("a result in the cache at \(root) was damaged, and is \(mending): \(reason)")
    }

    /// Announces that a record is about to be used or made; it is not evicted while this value lives.
    func lease(_ key: Digest) {
        // Without a cache there is nothing to lease; a new cache leases the results that it makes.
        guard readingMiss == nil, state.withLock({ $0.isPrepared }) else { return }
        let lease = state.withLock { state in
            if let lease = state.lease { return lease }
            let lease = CacheLease(folder)
            state.lease = .some(lease)
            return lease
        }
        lease?.add(key)
    }

    /// Returns whether the cache server has supplied a record, since this value was made.
    public func isFromServer(_ key: CacheKey) -> Bool { state.withLock { $0.received.contains(key.digest) } }

    /// Records the use of a record, at most once a second: some file systems have no finer times.
    func noteUse(of key: Digest) {
        let path = folder.recordPath(key)
        guard let identity = Files.identity(of: path), now - identity.modifiedNanoseconds > 1_000_000_000 else {
            return
        }
        Files.touch(path)
    }
}
