import AccelByteIO
import AccelPlatform

/// The exclusive right to compute a result, while other processes wait for it. It ends with this value. Only time
/// depends on it: two processes that compute the same result get the same bytes.
public final class CacheClaim: Sendable {
    /// Another process held the claim before, and may have made the result.
    public let hasWaited: Bool
    /// Other processes see the claim; false if locks do not work, or after another process took too long.
    public let isShared: Bool
    private let hold: Locked<(lock: FileLock, heartbeat: Heartbeat)?>

    init(_ lock: FileLock?, hasWaited: Bool) {
        self.hasWaited = hasWaited
        isShared = lock != nil
        hold = Locked(lock.map { ($0, Heartbeat($0)) })
    }

    /// Ends the claim now.
    public func release() { hold.withLock { $0 = nil } }
}

/// The time that a process waits for another one with the same work.
public struct CachePatience: Sendable {
    /// The longest wait.
    public var total: Duration
    /// The time without a sign of life after which a holder is not waited for.
    public var silence: Duration
    /// The default.
    public static let usual = CachePatience(total: .seconds(600), silence: .seconds(6 * Heartbeat.seconds))

    /// Creates a patience.
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

    /// Looks for a result, and again after waiting for another process that makes it.
    /// - Parameter look: returns the result; nil if it is missing.
    /// - Returns: The result, or a claim that has to be held while the result is computed.
    public func take<Found>(_ key: CacheKey, _ look: () throws -> Found?) rethrows -> (Found?, CacheClaim?) {
        if let found = try look() { return (found, nil) }
        let claim = claim(key)
        if claim.hasWaited, let found = try look() { return (found, nil) }
        return (nil, claim)
    }

    /// Claims a result unless another process is computing it; without a lock where locks do not work, and after a process that is silent.
    public func claimIfFree(_ key: CacheKey) -> CacheClaim? {
        switch attempt(key) {
        case .locked(let lock): CacheClaim(lock, hasWaited: false)
        case .unsupported: CacheClaim(nil, hasWaited: false)
        case .busy: isSilent(key) ? CacheClaim(nil, hasWaited: true) : nil
        }
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
