import ByteIO
import Foundation

/// Results of earlier conversions, on disk, shared by all processes. Nothing in it is needed: a cache that is missing,
/// damaged, read-only or full costs time, and never a conversion.
public final class Cache: Sendable {
    public var root: String { folder.root }
    let folder: CacheFolder
    let patience: CachePatience
    let remote: RemoteCache?
    private let clock: @Sendable () -> Int64
    let warn: @Sendable (String) -> Void
    private let state = Locked(State())

    private struct State {
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
    ///   - clock: nanoseconds since 1970; for tests.
    ///   - warn: gets a sentence when the cache cannot be written, once.
    public init(
        root: String, durability: CacheDurability = .none, remote: RemoteCache? = nil, patience: CachePatience = .usual,
        clock: (@Sendable () -> Int64)? = nil, warn: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        folder = CacheFolder(root: root, durability: durability)
        self.patience = patience
        self.remote = remote
        self.clock = clock ?? { Int64(Date().timeIntervalSince1970 * 1e9) }
        self.warn = warn
    }

    /// `$ACCELC_CACHE`, else the platform's folder for caches.
    /// - Parameter environment: nil: that of the process.
    /// - Returns: nil when the environment names neither it nor a home folder.
    public static func defaultRoot(_ environment: [String: String]? = nil) -> String? {
        let environment = environment ?? ProcessInfo.processInfo.environment
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        if let root = value("ACCELC_CACHE") { return root }
        #if canImport(Darwin)
            return value("HOME").map { "\($0)/Library/Caches/accelc" }
        #else
            return value("XDG_CACHE_HOME").map { "\($0)/accelc" } ?? value("HOME").map { "\($0)/.cache/accelc" }
        #endif
    }

    var now: Int64 { clock() }

    /// A path in the cache's file system at which something may be made that will be kept.
    public func workPath() throws -> String {
        try Files.makeFolder(folder.workPath)
        return "\(folder.workPath)/\(folder.randomName())"
    }

    /// Why nothing can be read from the cache; nil when it can.
    var readingObjection: CacheMiss? { folder.objection().map { CacheMiss(.unusable($0)) } }

    /// Runs something that writes to the cache. After a failure nothing more is written: a full disk stays full.
    @discardableResult
    func writing<Result>(_ body: (CacheFolder) throws -> Result) -> Result? {
        if state.withLock({ $0.failure }) != nil { return nil }
        do {
            if !state.withLock({ $0.isPrepared }) {
                if let objection = folder.objection() { throw RequestError(objection) }
                try folder.prepare()
                state.withLock { $0.isPrepared = true }
            }
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
        let lease = state.withLock { state in
            if let lease = state.lease { return lease }
            let lease = folder.objection() == nil ? CacheLease(folder) : nil
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
