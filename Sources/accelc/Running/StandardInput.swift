import AccelByteIO
import AccelFrontEnds
import AccelPlatform

/// Text or bytes of standard input.
enum StandardInput {
    static var isTerminal: Bool { isatty(0) == 1 }

    /// The next line, without its end; nil at the end.
    static func line() -> String? { readLine() }

    /// All of it, without the end of its last line.
    /// - Throws: `FormatError` if it is too long, or not UTF-8.
    static func text() throws -> String { try text(of: 0, "standard input") }

    /// Returns the text of a pipe or another file without a size, without the end of its last line.
    static func text(at path: String) throws -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw RequestError("\(path) cannot be read: \(String(cString: strerror(errno)))", status: .unavailable)
        }
        defer { close(descriptor) }
        return try text(of: descriptor, path)
    }

    /// Returns the next bytes, as many as there are; none at the end.
    /// - Throws: `RequestError` if it cannot be read.
    static func bytes() throws -> ArraySlice<UInt8> { try bytes(of: 0, "standard input") }

    private static func text(of descriptor: CInt, _ name: String) throws -> String {
        var bytes: [UInt8] = []
        while true {
            let part = try Self.bytes(of: descriptor, name)
            guard !part.isEmpty else { break }
            bytes += part
            guard bytes.count <= TextFile.largest else {
                throw FormatError(
                    file: name, reason: "has more than \(TextFile.largest) bytes, which is the most of a text")
            }
        }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw FormatError(file: name, reason: "the text is not UTF-8")
        }
        return text
    }

    private static func bytes(of descriptor: CInt, _ name: String) throws -> ArraySlice<UInt8> {
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = part.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw RequestError("\(name) cannot be read: \(String(cString: strerror(errno)))", status: .unavailable)
            }
            return part[..<count]
        }
    }
}
