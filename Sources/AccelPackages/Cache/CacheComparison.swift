import AccelByteIO

/// A comparison of new results with those of earlier conversions in the cache, which have to be equal.
public final class CacheComparison: Sendable {
    private let state = Locked((count: 0, missing: 0, differing: [String]()))

    /// Creates an empty comparison.
    public init() {}

    /// Adds the result of one comparison.
    public func note(_ name: String, isSame: Bool) {
        state.withLock { state in
            state.count += 1
            if !isSame { state.differing.append(name) }
        }
    }

    /// Counts a result that the cache did not have.
    package func noteMissing() { state.withLock { $0.missing += 1 } }

    /// The number of results that were in the cache.
    public var count: Int { state.withLock(\.count) }
    /// The number of results that were not, so that nothing was compared with them.
    package var missing: Int { state.withLock(\.missing) }
    /// The names of results that differ.
    public var differing: [String] { state.withLock(\.differing).sorted() }
}
