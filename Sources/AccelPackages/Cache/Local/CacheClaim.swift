import AccelByteIO
import AccelPlatform

/// The right to make a result, while other processes that want the same wait for it. It ends with the value. Nothing
/// depends on it but time: two that make the same result make the same bytes.
public final class CacheClaim: Sendable {
    /// Whether another process was waited for: it may have made the result.
    public let hasWaited: Bool
    /// Whether the others know of it; not where locks do not work, or another took too long.
    public let isShared: Bool
    private let hold: Locked<(lock: FileLock, heartbeat: Heartbeat)?>

    init(_ lock: FileLock?, hasWaited: Bool) {
        self.hasWaited = hasWaited
        isShared = lock != nil
        hold = Locked(lock.map { ($0, Heartbeat($0)) })
    }

    /// Lets the others go on now.
    public func release() { hold.withLock { $0 = nil } }
}

/// How long a process waits for another that makes the same.
public struct CachePatience: Sendable {
    public var total: Duration
    /// A holder that has shown no sign of life for this long is not waited for.
    public var silence: Duration
    public static let usual = CachePatience(total: .seconds(600), silence: .seconds(6 * Heartbeat.seconds))

    public init(total: Duration, silence: Duration) {
        self.total = total
        self.silence = silence
    }
}

extension Cache {
    /// Waits until no other process makes the result, and claims it.
    public func claim(_ key: CacheKey) -> CacheClaim {
        let start = ContinuousClock.now
        var pause = Duration.milliseconds(5)
        var (hasWaited, hasSaid) = (false, false)
        while true {
            switch attempt(key) {
            case .locked(let lock): return CacheClaim(lock, hasWaited: hasWaited)
            case .unsupported: return CacheClaim(nil, hasWaited: hasWaited)
            case .busy: break
            }
            if start.duration(to: .now) > patience.total || isSilent(key) { return CacheClaim(nil, hasWaited: true) }
            hasWaited = true
            if !hasSaid, start.duration(to: .now) > .seconds(2) {
                hasSaid = true
                warn("another process makes the same; waiting for its result for at most \(patience.total)")
            }
            usleep(UInt32(pause / .microseconds(1)))
            pause = min(pause * 2, .milliseconds(200))
        }
    }

    /// Looks for a result, and once more after another process that made it.
    /// - Parameter look: takes the result; nil when it is not there.
    /// - Returns: the result, or the claim to be held while it is made.
    public func take<Found>(_ key: CacheKey, _ look: () throws -> Found?) rethrows -> (Found?, CacheClaim?) {
        if let found = try look() { return (found, nil) }
        let claim = claim(key)
        if claim.hasWaited, let found = try look() { return (found, nil) }
        return (nil, claim)
    }

    /// Claims a result unless another process makes it right now.
    func claimAtOnce(_ key: CacheKey) -> CacheClaim? {
        if case .locked(let lock) = attempt(key) { return CacheClaim(lock, hasWaited: false) }
        return nil
    }

    private func attempt(_ key: CacheKey) -> FileLock.Attempt {
        let path = folder.lockPath(key.digest)
        guard isPrepared, (try? folder.makeParent(of: path)) != nil else { return .unsupported }
        return FileLock.attempt(path)
    }

    private func isSilent(_ key: CacheKey) -> Bool {
        guard let identity = Files.identity(of: folder.lockPath(key.digest)) else { return false }
        return .nanoseconds(now - identity.modifiedNanoseconds) > patience.silence
    }
}
