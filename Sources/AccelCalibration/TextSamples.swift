import AccelByteIO
public import AccelFrontEnds
public import AccelPrograms
public import AccelTensors

/// Samples of a model's inputs that are made of a text by the model's own tokenizer.
///
/// A decoder gets blocks of consecutive tokens of the whole text, each behind the token of a text's beginning where the tokenizer adds
/// one. An encoder gets a line each, filled up to the longest, with a mask.
public struct TextSamples: Sendable {
    /// The file.
    public let path: String
    /// The most samples.
    public var count: Int
    /// The most tokens of a sample.
    public var length: Int
    /// The texts: the whole file, or one for each line of a JSON Lines file.
    private let texts: [Text]

    private enum Text: Sendable {
        case plain(String)
        case messages([ChatMessage])
    }

    /// The most samples where nothing else is asked for.
    public static let defaultCount = 64
    /// The most tokens of a sample where nothing else is asked for.
    public static let defaultLength = 128

    /// Whether a file is a text by its name.
    public static func recognises(_ path: String) -> Bool {
        [".txt", ".md", ".jsonl"].contains { path.hasSuffix($0) }
    }

    /// Reads a text, or JSON Lines: objects with `text` or `messages`.
    /// - Throws: `FormatError` if it is not UTF-8, or no such JSON; `RequestError` without text.
    public init(_ path: String, count: Int = defaultCount, length: Int = defaultLength) throws {
        (self.path, self.count, self.length) = (path, count, length)
        let files = NamedFiles(folder: Files.parentFolder(of: path) ?? ".")
        guard let text = try files.text(Files.name(of: path)) else { throw RequestError("there is no file \(path)") }
        if path.hasSuffix(".jsonl") {
            texts = try text.split(separator: "\n").enumerated().map { index, line in
                let place = "\(path), line \(index + 1)"
                let field = JSONField(try JSON.parse(ByteView(Array(line.utf8)), file: place), file: place)
                guard field["messages"].exists else { return .plain(try field["text"].string()) }
                return .messages(
                    try field["messages"].array().map {
                        ChatMessage(role: try $0["role"].string(), content: try $0["content"].string())
                    })
            }
        } else {
            texts = [.plain(text)]
        }
        guard text.contains(where: { !$0.isWhitespace }) else { throw RequestError("\(path) has no text") }
    }

    /// Returns the tensors of the samples by the names of a model's inputs: `I64[samples,length]`.
    /// - Parameter interfaces: those of the model's parts, of which one takes tokens.
    /// - Throws: `RequestError` if no part takes tokens.
    public func tensors(for interfaces: [Interface], by frontEnd: TextFrontEnd) throws -> [StoredTensor] {
        func name(_ kind: RoleKind) -> String? {
            interfaces.lazy.compactMap { interface in interface.inputs.first { $0.value.kind == kind }?.key }.first
        }
        guard let tokens = name(.tokens) else {
            throw RequestError("\(path): the model takes no tokens, so that no samples can be made of a text")
        }
        guard name(.position) == nil else {
            return [tensor(tokens, try blocks(by: frontEnd))]
        }
        let rows = try lines(by: frontEnd)
        let padding = frontEnd.specialToken("pad_token").flatMap(frontEnd.tokenID) ?? 0
        let length = rows.map(\.count).max() ?? 0
        let filled = rows.map { $0 + Array(repeating: padding, count: length - $0.count) }
        let mask = rows.map {
            Array(repeating: Int64(1), count: $0.count) + Array(repeating: 0, count: length - $0.count)
        }
        return [tensor(tokens, filled), tensor(name(.attentionMask) ?? SampleInputs.maskName, mask)]
    }

    /// Blocks of equal length; a text that fills none is one shorter block.
    private func blocks(by frontEnd: TextFrontEnd) throws -> [[Int64]] {
        let start = try frontEnd.startToken().map { [$0] } ?? []
        var all: [Int64] = []
        for text in texts {
            let tokens = try tokens(of: text, by: frontEnd)
            all += tokens.prefix(start.count) == start[...] ? tokens.dropFirst(start.count) : tokens[...]
        }
        let width = max(min(length, frontEnd.longestText ?? .max) - start.count, 1)
        guard all.count > width else { return [start + all] }
        return (0..<min(all.count / width, count)).map { start + all[$0 * width..<($0 + 1) * width] }
    }

    /// A line of each text that is no conversation. A line that is too long loses tokens before its last one.
    private func lines(by frontEnd: TextFrontEnd) throws -> [[Int64]] {
        let texts = texts.flatMap { text -> [Text] in
            guard case .plain(let all) = text else { return [text] }
            return all.split(whereSeparator: \.isNewline).filter { $0.contains { !$0.isWhitespace } }.map {
                .plain(String($0))
            }
        }
        return try texts.prefix(count).map { text in
            let tokens = try tokens(of: text, by: frontEnd)
            let length = min(length, frontEnd.longestText ?? .max)
            guard tokens.count > length, let last = tokens.last else { return tokens }
            return Array(tokens.prefix(length - 1)) + [last]
        }
    }

    private func tokens(of text: Text, by frontEnd: TextFrontEnd) throws -> [Int64] {
        switch text {
        case .plain(let text): try frontEnd.tokens(of: text)
        case .messages(let messages): try frontEnd.tokens(of: messages)
        }
    }

    private func tensor(_ name: String, _ rows: [[Int64]]) -> StoredTensor {
        StoredTensor(
            name: name, elementType: .int64, shape: [rows.count, rows.first?.count ?? 0],
            bytes: ByteView(rows.flatMap(\.self)))
    }
}
