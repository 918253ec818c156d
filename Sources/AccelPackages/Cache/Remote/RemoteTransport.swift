/// The connection to a cache server: the tool uses the `curl` program, an app can use its platform's client.
public protocol RemoteTransport: Sendable {
    /// Performs all requests, in parallel or one after the other.
    /// - Parameter authorization: the value of the header `Authorization`; nil for none.
    /// - Returns: The outcome of each request; nil if there is no client.
    func run(_ requests: [RemoteRequest], authorization: String?) -> [RemoteOutcome]?
}

/// A request to a cache server.
public struct RemoteRequest: Sendable {
    /// The method of a request.
    public enum Method: Sendable {
        /// Fetches into a file; fails if the content exceeds `limit` bytes.
        case get(into: String, limit: Int)
        /// Asks whether the content exists.
        case head
        /// Sends the content of a file.
        case put(from: String)
    }
    /// The address.
    public var url: String
    /// The method.
    public var method: Method

    /// Creates a request.
    public init(url: String, method: Method) { (self.url, self.method) = (url, method) }
}

/// The outcome of a request to a cache server.
public enum RemoteOutcome: Equatable, Sendable {
    /// The server's status code.
    case status(Int)
    /// The content is larger than the request allows, or was truncated; it counts as missing.
    case incomplete
    /// The server cannot be used, with the reason, such as `there is no connection to it`.
    case failed(String)
}
