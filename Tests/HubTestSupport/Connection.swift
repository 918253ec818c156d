import AccelByteIO
import AccelPlatform

private var streamSocket: Int32 {
    #if canImport(Glibc)
        Int32(SOCK_STREAM.rawValue)
    #else
        SOCK_STREAM
    #endif
}

private func loopbackAddress(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    return address
}

/// A socket that accepts connections on 127.0.0.1.
struct ListeningSocket {
    let descriptor: Int32
    let port: UInt16

    /// - Parameter port: 0 for one that is free.
    init(port: UInt16) throws {
        descriptor = socket(AF_INET, streamSocket, 0)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var address = loopbackAddress(port)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isListening else { throw RequestError("no socket: \(systemMessage())", status: .unavailable) }
        self.port = UInt16(bigEndian: address.sin_port)
    }
}

/// A connection of one request.
final class Connection: Sendable {
    private let descriptor: FileDescriptor

    init(_ number: Int32) {
        descriptor = FileDescriptor(number)
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        #if canImport(Darwin)
            var on: Int32 = 1
            setsockopt(number, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
        #endif
    }

    /// Connects to a port of this machine; nil if nobody listens there.
    convenience init?(to port: UInt16) {
        let number = socket(AF_INET, streamSocket, 0)
        var address = loopbackAddress(port)
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        self.init(number)
        if !isConnected { return nil }
    }

    /// Reads some bytes; none if there are none for a while.
    /// - Returns: Nil at the end.
    func read() -> [UInt8]? {
        var request = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        guard poll(&request, 1, 50) > 0 else { return [] }
        var part = [UInt8](repeating: 0, count: 1 << 16)
        let count = AccelPlatform.read(descriptor.number, &part, part.count)
        return count > 0 ? Array(part[..<count]) : nil
    }

    /// Reads the head of a request.
    func request() -> LocalHub.Request? {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            let count = AccelPlatform.read(descriptor.number, &part, part.count)
            guard count > 0, bytes.count < 1 << 16 else { return nil }
            bytes += part[..<count]
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3 else { return nil }
        var request = LocalHub.Request(method: String(words[0]), path: String(words[1]))
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { request.headers[parts[0].lowercased()] = String(parts[1].drop { $0 == " " }) }
        }
        return request
    }

    /// Sends all bytes.
    /// - Returns: False if the client has closed the connection.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        #if canImport(Darwin)
            let flags: Int32 = 0
        #else
            let flags = Int32(MSG_NOSIGNAL)
        #endif
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                AccelPlatform.send(descriptor.number, $0.baseAddress! + done, $0.count - done, flags)
            }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }

    /// Waits until the client closes the connection.
    func waitForEnd() {
        var byte: UInt8 = 0
        while AccelPlatform.read(descriptor.number, &byte, 1) > 0 {}
    }
}

/// An answer of the server.
struct Answer {
    var status: Int
    var headers: [String: String] = [:]
    var body: [UInt8] = []

    init(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    init(json: JSON) {
        self.init(status: 200, headers: ["Content-Type": "application/json"], body: Array(json.text().utf8))
    }

    var head: [UInt8] {
        let lines = headers.merging(["Content-Length": "\(body.count)", "Connection": "close"]) { first, _ in first }
        return Array(
            "HTTP/1.1 \(status) Status\r\n\(lines.map { "\($0): \($1)\r\n" }.joined())\r\n".utf8)
    }

    /// Reduces the body to a range `bytes=FIRST-LAST` or `bytes=FIRST-`.
    mutating func takeRange(_ range: String?) {
        guard status == 200, let range, range.hasPrefix("bytes=") else { return }
        let ends = range.dropFirst(6).split(separator: "-").map { Int($0) ?? 0 }
        let size = body.count
        guard let first = ends.first, first < size else {
            self = Answer(status: 416, headers: ["Content-Range": "bytes */\(size)"])
            return
        }
        let last = ends.count > 1 ? min(ends[1], size - 1) : size - 1
        body = Array(body[first...last])
        status = 206
        headers["Content-Range"] = "bytes \(first)-\(last)/\(size)"
    }
}
