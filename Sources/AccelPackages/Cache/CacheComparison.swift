import AccelByteIO

/// Compares what a conversion makes anew with what an earlier one has left in the cache: both must be the same bytes.
public final class CacheComparison: Sendable {
    private let state = Locked((count: 0, differing: [String]()))

    public init() {}

    public func note(_ name: String, isSame: Bool) {
        state.withLock { state in
            state.count += 1
            if !isSame { state.differing.append(name) }
        }
    }

    /// How many results were in the cache.
    public var count: Int { state.withLock(\.count) }
    /// What is not what it was.
    public var differing: [String] { state.withLock(\.differing).sorted() }
}
