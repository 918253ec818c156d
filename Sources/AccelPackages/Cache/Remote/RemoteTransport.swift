/// How a cache server is reached: the tool has one over the `curl` program, an app may have its platform's.
public protocol RemoteTransport: Sendable {
    /// Does all requests, at once or one after the other.
    /// - Parameter authorization: the value of the header `Authorization`; nil: there is none.
    /// - Returns: for each request how it went; nil where there is nothing to do requests with.
    func run(_ requests: [RemoteRequest], authorization: String?) -> [RemoteOutcome]?
}

/// A request to a cache server.
public struct RemoteRequest: Sendable {
    public enum Method: Sendable {
        /// Into a file; more bytes than `limit` make it fail.
        case get(into: String, limit: Int)
        case head
        case put(from: String)
    }
    public var url: String
    public var method: Method

    public init(url: String, method: Method) { (self.url, self.method) = (url, method) }
}

/// How a request to a cache server ended.
public enum RemoteOutcome: Equatable, Sendable {
    /// The server's answer.
    case status(Int)
    /// The content is larger than the request allows, or was cut off: that one is missed.
    case incomplete
    /// The server cannot be used, and why, e.g. `there is no connection to it`.
    case failed(String)
}
