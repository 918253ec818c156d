/// How often and how long a download tries.
public struct HubPolicy: Sendable {
    /// The number of attempts in a row that may bring no new bytes.
    public var attempts = 5
    /// The pause after the first of them; it doubles each time.
    public var pause: Duration = .milliseconds(500)
    /// The longest pause, and the longest wait that a server may ask for.
    public var longestPause: Duration = .seconds(300)
    /// Is called before each pause, from any thread, with the reason and the length.
    public var willPause: @Sendable (HubError, Duration) -> Void = { _, _ in }
    /// The number of files that are downloaded at a time.
    public var parallelFiles = 4

    /// The default limits.
    public init() {}
}
