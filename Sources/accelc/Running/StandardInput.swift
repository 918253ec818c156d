import AccelByteIO
import AccelPlatform

/// Text of standard input.
enum StandardInput {
    static var isTerminal: Bool { isatty(0) == 1 }

    /// The next line, without its end; nil at the end.
    static func line() -> String? { readLine() }

    /// All of it, without the end of its last line.
    static func text() throws -> String {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = part.withUnsafeMutableBytes { read(0, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw RequestError("standard input cannot be read: \(String(cString: strerror(errno)))")
            }
            guard count > 0 else { break }
            bytes += part[..<count]
        }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
