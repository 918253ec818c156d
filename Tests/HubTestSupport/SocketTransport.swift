import AccelByteIO
package import AccelHub
import AccelPlatform

/// Requests over plain sockets to 127.0.0.1, so that tests need no other program.
package struct SocketTransport: HubTransport {
    package init() {}

    package func perform(
        _ request: HubRequest, _ receive: (HubAnswerPart) throws -> Bool
    ) throws -> HubTransferEnd {
        let parts = request.url.split(separator: "/", maxSplits: 2)
        guard parts.count == 3, parts[0] == "http:",
            let port = parts[1].split(separator: ":").last.flatMap({ UInt16($0) })
        else { return .unreachable("not this machine") }
        guard let connection = Connection(to: port) else { return .unreachable("there is no connection to the server") }
        let lines = ["\(request.isHead ? "HEAD" : "GET") /\(parts[2]) HTTP/1.1", "Host: \(parts[1])"] + request.headers
        connection.send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
        var (reader, missing) = (HubAnswerReader(), 0)
        while let bytes = connection.read() {
            let goesOn = try bytes.withUnsafeBytes {
                try reader.read($0) { part in
                    switch part {
                    case .head(let head): missing = request.isHead ? 0 : head["Content-Length"].flatMap { Int($0) } ?? 0
                    case .body(let bytes): missing -= bytes.count
                    }
                    return try receive(part)
                }
            }
            guard goesOn else { return .stopped }
        }
        if !reader.hasHead { return .broken("there was no answer") }
        return missing > 0 ? .broken("\(missing) bytes are missing") : .complete
    }
}
