public import AccelByteIO

/// The header of a signature that `ssh-keygen -Y sign` wrote (OpenSSH, PROTOCOL.sshsig). `ssh-keygen` verifies the
/// signature and the key.
public struct SSHSignature: Equatable, Sendable {
    /// The namespace of package signatures; signatures for other purposes are rejected.
    public static let namespace = "accelc-package@v1"
    /// The namespace of signatures of backend plug-ins.
    public static let pluginNamespace = "accelc-plugin@v1"

    /// The namespace in the signature.
    public let namespace: String
    /// The type of the key, such as `ssh-ed25519`.
    public let keyType: String
    /// The armored signature alone, as `ssh-keygen` reads it.
    package let armor: ByteView
    /// The statement behind a package's signature, and its line with the end, which is signed; nil if there is none.
    let statement: ReleaseStatement?
    let statementLine: ByteView?

    private static let begin = "-----BEGIN SSH SIGNATURE-----"
    private static let end = "-----END SSH SIGNATURE-----"
    /// Four times the size of a signature by a 16-kilobit RSA key.
    private static let maximumBytes = 1 << 16

    /// Reads an armored signature.
    /// - Parameter purpose: the namespace that it has to have.
    /// - Throws: `FormatError` if it is not exactly one signature.
    public init(_ armored: ByteView, file: String, purpose: String = Self.namespace) throws {
        func rejected(_ reason: String) -> FormatError { FormatError(file: file, reason: reason) }
        guard armored.count <= Self.maximumBytes,
            let text = armored.withBytes({ String(validating: $0, as: UTF8.self) })
        else { throw rejected("is not an SSH signature: expected at most \(Self.maximumBytes) bytes of text") }
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        guard lines.first == Self.begin[...], let last = lines.firstIndex(of: Self.end[...]),
            case let further = lines[(last + 1)...].filter({ !$0.isEmpty }),
            further.isEmpty || further.count == 1 && further[0].first == "{" && purpose == Self.namespace
        else { throw rejected("is not an SSH signature: expected \(Self.begin) ... \(Self.end)") }
        armor = ByteView(Array((lines[...last].joined(separator: "\n") + "\n").utf8))
        let line = further.first.map { ByteView(Array("\($0)\n".utf8)) }
        (statementLine, statement) = (line, try line.map { try ReleaseStatement($0, file: file) })
        guard let bytes = Base64.bytes(of: lines[1..<last].joined()) else {
            throw rejected("is not an SSH signature: its content is not base64")
        }

        var reader = SSHReader(ByteReader(ByteView(bytes), file: file))
        guard try reader.bytes(6) == ByteView(Array("SSHSIG".utf8)) else {
            throw rejected("is not an SSH signature: it does not begin with SSHSIG")
        }
        let version = try reader.number()
        guard version == 1 else { throw rejected("is an SSH signature of version \(version), expected 1") }
        var key = SSHReader(ByteReader(try reader.string(), file: file))
        keyType = try key.text()
        namespace = try reader.text()
        _ = try reader.string()  // reserved
        let hash = try reader.text()
        guard hash == "sha512" || hash == "sha256" else {
            throw rejected("is a signature of the unknown hash \(quoted(hash))")
        }
        guard try !reader.string().isEmpty, reader.isAtEnd else {
            throw rejected("is not an SSH signature: there is something behind it, or it is empty")
        }
        guard namespace == purpose else {
            let subject = purpose == Self.namespace ? "package" : "plug-in"
            throw rejected(
                "is a signature for \(quoted(namespace)), and not for \(quoted(purpose)): it says nothing of a \(subject)"
            )
        }
    }

    private func quoted(_ text: String) -> String { "\"\(text.prefix(80))\"" }
}

/// Reads SSH's numbers and strings: big-endian, strings with their length before them.
private struct SSHReader {
    private var reader: ByteReader
    init(_ reader: ByteReader) { self.reader = reader }

    var isAtEnd: Bool { reader.isAtEnd }
    mutating func bytes(_ count: Int) throws -> ByteView { try reader.bytes(count) }
    mutating func number() throws -> UInt32 { try reader.integer(UInt32.self).byteSwapped }
    mutating func string() throws -> ByteView { try reader.bytes(Int(try number())) }
    mutating func text() throws -> String {
        let count = Int(try number())
        return try reader.text(count)
    }
}
