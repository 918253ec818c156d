/// The connection to the Hub: the tool uses the `curl` program, an app can use its platform's client.
public protocol HubTransport: Sendable {
    /// Sends a request, without following redirects, and passes on the answer while it arrives.
    /// - Parameter receive: gets the head, then parts of the body; an empty part now and then while nothing arrives.
    ///   Returns false to end the transfer.
    /// - Throws: the errors of `receive`.
    func perform(_ request: HubRequest, _ receive: (HubAnswerPart) throws -> Bool) throws -> HubTransferEnd
}

/// A request to the Hub.
public struct HubRequest: Sendable {
    /// The address.
    public var url: String
    /// Asks for the head of the answer only.
    public var isHead = false
    /// The lines of the head, such as `Range: bytes=0-7`. They may hold a secret.
    public var headers: [String] = []

    /// Creates a request.
    public init(url: String) { self.url = url }
}

/// A part of an answer.
public enum HubAnswerPart {
    /// The status and the headers.
    case head(HubAnswerHead)
    /// Bytes of the body, valid during the call.
    case body(UnsafeRawBufferPointer)
}

/// The end of a transfer.
public enum HubTransferEnd: Equatable, Sendable {
    /// The whole answer has arrived.
    case complete
    /// `receive` has ended it.
    case stopped
    /// The connection broke, or was too slow.
    case broken(String)
    /// There was no connection, with the reason.
    case unreachable(String)
    /// There is no client.
    case noClient(String)
}

/// The status line and the headers of an answer.
public struct HubAnswerHead: Equatable, Sendable {
    /// The status code.
    public var status: Int
    private var values: [String: String] = [:]

    /// Parses a head, without the empty line at its end.
    /// - Returns: Nil for anything that does not begin with a status line of HTTP.
    public init?(parsing text: String) {
        // Of scalars, because a carriage return and a line feed are one character.
        let lines = text.unicodeScalars.split { $0 == "\n" || $0 == "\r" }.map { Substring($0) }
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count >= 2, words[0].hasPrefix("HTTP/"), let status = Int(words[1]), (100...999).contains(status)
        else { return nil }
        self.status = status
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...]
            values[line[..<colon].lowercased()] = String(value.drop { $0 == " " || $0 == "\t" })
        }
    }

    /// The value of a header; nil if the answer does not have it. The case of the name does not matter.
    public subscript(name: String) -> String? { values[name.lowercased()] }

    /// The value of a header that is a natural number.
    func number(_ name: String) -> Int? { self[name].flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil } }
}
