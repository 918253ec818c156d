import AccelByteIO
import AccelPlatform

/// Results of earlier conversions, on disk, shared by all processes. Nothing in it is needed: a cache that is missing,
/// damaged, read-only or full costs time, and never a conversion.
public final class Cache: Sendable {
    public var root: String { folder.root }
    let folder: CacheFolder
    let patience: CachePatience
    let remote: RemoteCache?
    private let clock: @Sendable () -> Int64
    let warn: @Sendable (String) -> Void
    let state = Locked(State())

    struct State {
        /// The folder is a cache that this tool may use, and was one when it was last looked at.
        var isPrepared = false
        var hasWarned = false
        /// Why nothing more is written.
        var failure: String?
        /// nil: not asked for yet; the lease within is nil where there can be none.
        var lease: CacheLease??
    }

    /// - Parameters:
    ///   - durability: what is left of new results after a power cut.
    ///   - remote: a server that is asked for what is not here, and gets what is made here.
    ///   - patience: with other processes that make the same.
    ///   - trustsOthers: whether a cache that belongs to another user, or that others may write to, is used all the same: they decide
    ///     then what conversions find in it.
    ///   - clock: nanoseconds since 1970; for tests.
    ///   - warn: gets a sentence when the cache cannot be written, once.
    public init(
        root: String, durability: CacheDurability = .none, remote: RemoteCache? = nil, patience: CachePatience = .usual,
        trustsOthers: Bool = false, clock: (@Sendable () -> Int64)? = nil,
        warn: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        folder = CacheFolder(root: root, durability: durability, trustsOthers: trustsOthers)
        self.patience = patience
        self.remote = remote
        self.clock = clock ?? { WallClock.nanoseconds }
        self.warn = warn
    }

    /// `$ACCELC_CACHE`, else the platform's folder for caches.
    /// - Parameter environment: nil: that of the process.
    /// - Returns: nil when the environment names neither it nor a home folder.
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

    /// Whether a folder is a cache of accelc's, or is about to be one: nothing else is written there.
    public static func isCache(_ folder: String) -> Bool { CacheFolder(root: folder).isTagged }

    var now: Int64 { clock() }

    /// A path in the cache's file system at which something may be made that will be kept.
    /// - Throws: `RequestError` when the cache cannot be written.
    public func workPath() throws -> String {
        try prepare()
        try folder.makeFolder(folder.workPath)
        return "\(folder.workPath)/\(CacheNames.random())"
    }

    /// Why nothing can be read from the cache; nil when it can.
    var readingObjection: CacheMiss? {
        if state.withLock({ $0.isPrepared }) { return nil }
        if let objection = folder.objection() { return CacheMiss(.unusable(objection)) }
        if folder.standing == .cache {
            folder.close()
            state.withLock { $0.isPrepared = true }
        }
        return nil
    }

    /// Makes the folder a cache where it is none yet: nothing is written to any other.
    private func prepare() throws {
        if state.withLock({ $0.isPrepared }) { return }
        if let objection = folder.objection() { throw RequestError(objection, status: .unavailable) }
        try folder.prepare()
        folder.close()
        state.withLock { $0.isPrepared = true }
    }

    /// Whether the folder is a cache now; makes it one where it can.
    var isPrepared: Bool { writing { _ in true } ?? (readingObjection == nil && folder.standing == .cache) }

    /// Runs something that writes to the cache. After a failure nothing more is written: a full disk stays full.
    @discardableResult
    func writing<Result>(_ body: (CacheFolder) throws -> Result) -> Result? {
        if state.withLock({ $0.failure }) != nil { return nil }
        do {
            try prepare()
            return try body(folder)
        } catch is CacheMiss {
            // A clean-up was faster: the cache is as good as before.
            return nil
        } catch {
            report("the cache at \(root) is not written to: \(error)")
            state.withLock { $0.failure = "\(error)" }
            return nil
        }
    }

    /// Warns, once in the life of this value.
    private func report(_ sentence: String) {
        let isFirst = state.withLock { state in
            defer { state.hasWarned = true }
            return !state.hasWarned
        }
        if isFirst { warn(sentence) }
    }

    /// Says that a record is about to be used or made: clean-ups leave it while this value lives.
    func lease(_ key: Digest) {
        // Where there is no cache there is nothing to keep; whoever makes one leases what he makes.
        guard readingObjection == nil, state.withLock({ $0.isPrepared }) else { return }
        let lease = state.withLock { state in
            if let lease = state.lease { return lease }
            let lease = CacheLease(folder)
            state.lease = .some(lease)
            return lease
        }
        lease?.add(key)
    }

    /// Marks a record as used, at most once an hour.
    func noteUse(of key: Digest) {
        let path = folder.recordPath(key)
        guard let identity = Files.identity(of: path), now - identity.modifiedNanoseconds > 3600 * 1_000_000_000 else {
            return
        }
        Files.touch(path)
    }
}
