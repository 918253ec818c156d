import AccelByteIO

/// The name of a model on the Hub: `hf:OWNER/NAME[@REVISION][:FILE]`.
///
///     let reference = try HubReference(parsing: "hf:ggml-org/SmolLM3-3B-GGUF:Q4_K_M")
public struct HubReference: Hashable, Sendable, CustomStringConvertible {
    /// The prefix of references.
    public static let prefix = "hf:"
    /// The user or organization.
    public let owner: String
    /// The name of the repository.
    public let name: String
    /// A branch, a tag or a commit; `main` if the text names none.
    public let revision: String
    /// A file of the repository, or the end of a GGUF file's name, such as `Q4_K_M`; nil if the text names none.
    public let file: String?

    /// The name of the repository with its owner.
    public var repository: String { "\(owner)/\(name)" }
    /// The revision is a whole commit hash, which never moves.
    public var isCommit: Bool { HubName.isCommit(revision) }

    /// Parses a reference.
    /// - Throws: `HubError` (`invalidReference`) for any other text. No part can lead out of a folder.
    public init(parsing text: String) throws(HubError) {
        func error(_ expected: String, _ found: some StringProtocol) -> HubError {
            HubError(.invalidReference, subject: text, expected: expected, found: String(found))
        }
        let form = "hf:OWNER/NAME[@REVISION][:FILE]"
        guard text.hasPrefix(Self.prefix) else { throw error(form, text) }
        let rest = text.dropFirst(Self.prefix.count)
        let (path, file) = Self.halves(of: rest, at: ":")
        let (repository, revision) = Self.halves(of: path, at: "@")
        let parts = repository.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw error(form, text) }
        for part in parts where !HubName.isRepositoryPart(part) {
            throw error("a name of ASCII letters, digits, \".\", \"_\" and \"-\"", part)
        }
        if let revision, !HubName.isRevision(revision) {
            throw error("the name of a branch or a tag, or a commit", revision)
        }
        if let file, !HubName.isPath(file) { throw error("the path of a file of the repository", file) }
        (owner, name) = (String(parts[0]), String(parts[1]))
        self.revision = revision.map(String.init) ?? "main"
        self.file = file.map(String.init)
    }

    private static func halves(of text: Substring, at separator: Character) -> (Substring, Substring?) {
        guard let index = text.firstIndex(of: separator) else { return (text, nil) }
        return (text[..<index], text[text.index(after: index)...])
    }

    public var description: String {
        "\(Self.prefix)\(repository)\(revision == "main" ? "" : "@\(revision)")\(file.map { ":\($0)" } ?? "")"
    }
}

/// The names that references and servers may use. All of them are safe as parts of paths.
enum HubName {
    static func isCommit(_ text: some StringProtocol) -> Bool { Digest.isHexadecimal(text, 40...40) }

    /// The Hub's rule for owners and names. `--` separates them in the cache.
    static func isRepositoryPart(_ text: Substring) -> Bool {
        let isPlain = text.utf8.allSatisfy { isLetterOrDigit($0) || "._-".utf8.contains($0) }
        let ends = [text.utf8.first, text.utf8.last].compactMap { $0 }
        return isPlain && (1...96).contains(text.utf8.count) && ends.allSatisfy { !".-".utf8.contains($0) }
            && !text.contains("--") && !text.contains("..") && !text.hasSuffix(".git")
    }

    static func isRevision(_ text: Substring) -> Bool {
        let isPlain = text.utf8.allSatisfy { isLetterOrDigit($0) || "._-+/".utf8.contains($0) }
        return isPlain && isPath(text) && !text.contains("..")
    }

    /// A relative path that neither leaves its folder nor names a hidden entry.
    static func isPath(_ text: some StringProtocol) -> Bool {
        let isPlain = text.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 && $0 != "\\" && $0 != ":" }
        guard isPlain, (1...1024).contains(text.utf8.count) else { return false }
        return text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
            (1...255).contains($0.count) && $0.first != UInt8(ascii: ".")
        }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    /// Returns a part of a URL's path with all other bytes than unreserved ones escaped (RFC 3986).
    static func escaped(_ text: String, keepsSlashes: Bool = true) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            let isKept =
                isLetterOrDigit(byte) || "-._~".utf8.contains(byte) || keepsSlashes && byte == UInt8(ascii: "/")
            bytes += isKept ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
