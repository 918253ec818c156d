import AccelByteIO

/// The texts of a file: one plain text, or of JSON Lines (`.jsonl`) those of objects with `text` or `messages`.
public struct TextFile: Sendable {
    /// A text of the file.
    public enum Entry: Sendable {
        /// A text as it is.
        case plain(String)
        /// A conversation, which a chat template makes a text of.
        case conversation(Conversation)

        /// Whether this is a text of white space only.
        public var isBlank: Bool {
            guard case .plain(let text) = self else { return false }
            return text.allSatisfy(\.isWhitespace)
        }
    }

    /// The path, for errors.
    public let path: String
    /// The whole file, or the text of each line of JSON.
    public var entries: [Entry] { parts.map(\.entry) }
    private let parts: [Line]

    /// A text of a line.
    public struct Line: Sendable {
        /// The number of the line, from 1.
        public let number: Int
        /// The text.
        public let entry: Entry
    }

    /// The largest file that is read, in bytes.
    public static let largest = 1 << 28

    /// Whether a file is a text by its name.
    public static func recognises(_ path: String) -> Bool {
        [".txt", ".md", ".jsonl"].contains { path.hasSuffix($0) }
    }

    /// Reads a file.
    /// - Throws: `FormatError` if it is too large, not UTF-8, or no such JSON; `RequestError` if there is no file, or no text in it.
    public init(_ path: String) throws {
        let files = NamedFiles(folder: Files.parentFolder(of: path) ?? ".")
        if let bytes = Files.identity(of: path)?.size, bytes > Self.largest {
            throw FormatError(file: path, reason: "has \(bytes) bytes; a text has at most \(Self.largest)")
        }
        guard let text = try files.text(Files.name(of: path)) else { throw RequestError("there is no file \(path)") }
        try self.init(text, path: path)
    }

    /// - Parameters:
    ///   - text: the content of a file.
    ///   - path: its ending says whether it is JSON Lines.
    public init(_ text: String, path: String) throws {
        self.path = path
        // Some editors put a mark at the beginning, which is no text.
        let text = text.first == "\u{FEFF}" ? text.dropFirst() : text[...]
        guard text.contains(where: { !$0.isWhitespace }) else { throw RequestError("\(path) has no text") }
        guard path.hasSuffix(".jsonl") else {
            parts = [Line(number: 1, entry: .plain(String(text)))]
            return
        }
        parts = try Self.lines(of: text).enumerated().compactMap { index, line in
            guard line.contains(where: { !$0.isWhitespace }) else { return nil }
            let place = "\(path), line \(index + 1)"
            let field = JSONField(try JSON.parse(ByteView(Array(line.utf8)), file: place), file: place)
            guard field["messages"].exists else {
                return Line(number: index + 1, entry: .plain(try field["text"].string()))
            }
            return Line(number: index + 1, entry: .conversation(try Conversation(parsing: field)))
        }
    }

    /// The lines of plain texts that are not blank, and the texts of JSON Lines.
    public var lines: [Line] {
        guard case .plain(let text)? = parts.first?.entry, !path.hasSuffix(".jsonl") else { return parts }
        return Self.lines(of: text[...]).enumerated()
            .map { Line(number: $0 + 1, entry: .plain(String($1))) }
            .filter { !$0.entry.isBlank }
    }

    /// Divides a text at its line ends, which are LF or CRLF. What stands behind the last one is a line if it is not empty.
    public static func lines(of text: Substring) -> [Substring] {
        var lines: [Substring] = []
        var start = text.startIndex
        let bytes = text.utf8
        while start < bytes.endIndex {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
            var stop = end
            if end < bytes.endIndex, stop > start, bytes[bytes.index(before: stop)] == UInt8(ascii: "\r") {
                stop = bytes.index(before: stop)
            }
            lines.append(text[start..<stop])
            start = end < bytes.endIndex ? bytes.index(after: end) : end
        }
        return lines
    }
}

extension TextFrontEnd {
    /// The text of an entry.
    /// - Throws: `RequestError` for a conversation without a template; `ChatTemplateError` with the template's line.
    public func text(of entry: TextFile.Entry) throws -> String {
        switch entry {
        case .plain(let text): text
        case .conversation(let conversation):
            try prompt(of: conversation.messages, tools: conversation.tools, variables: conversation.variables)
        }
    }

    /// The tokens of an entry. A template writes its special tokens itself.
    public func tokens(of entry: TextFile.Entry) throws -> [Int64] {
        switch entry {
        case .plain(let text): try tokens(of: text)
        case .conversation(let conversation):
            try tokens(of: conversation.messages, tools: conversation.tools, variables: conversation.variables)
        }
    }
}
