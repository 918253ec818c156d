import AccelByteIO
public import AccelFrontEnds
public import AccelPrograms
public import AccelTensors
import AccelText

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
    private let file: TextFile

    /// The most samples where nothing else is asked for.
    public static let defaultCount = 64
    /// The most tokens of a sample where nothing else is asked for.
    public static let defaultLength = 128

    /// Whether a file is a text by its name.
    public static func recognises(_ path: String) -> Bool { TextFile.recognises(path) }

    /// Reads a text, or JSON Lines: objects with `text` or `messages`.
    /// - Throws: `FormatError` if it is not UTF-8, or no such JSON; `RequestError` without text.
    public init(_ path: String, count: Int = defaultCount, length: Int = defaultLength) throws {
        (self.path, self.count, self.length) = (path, count, length)
        file = try TextFile(path)
    }

    /// The samples of a text, and how much of it they are.
    public struct Made: Sendable {
        /// The tensors by the names of a model's inputs: `I64[samples,length]`.
        public let tensors: [StoredTensor]
        /// A sentence on the part of the text that no sample has; nil if they have all of it.
        public let remark: String?
    }

    /// Returns the samples for a model.
    /// - Parameter interfaces: those of the model's parts, of which one takes tokens.
    /// - Throws: `RequestError` if no part takes tokens.
    public func made(for interfaces: [Interface], by frontEnd: TextFrontEnd) throws -> Made {
        func name(_ kind: RoleKind) -> String? {
            interfaces.lazy.compactMap { interface in interface.inputs.first { $0.value.kind == kind }?.key }.first
        }
        guard let tokens = name(.tokens) else {
            throw RequestError("\(path): the model takes no tokens, so that no samples can be made of a text")
        }
        guard name(.position) == nil else {
            let (rows, isWhole) = try blocks(by: frontEnd)
            let remark =
                "\(path): samples are its first \(rows.count) blocks of \(rows[0].count) tokens; the rest is not used"
            return Made(tensors: [tensor(tokens, rows)], remark: isWhole ? nil : remark)
        }
        let (rows, unused) = try lines(by: frontEnd)
        let padding = frontEnd.specialToken("pad_token").flatMap(frontEnd.tokenID) ?? 0
        let length = rows.map(\.ids.count).max() ?? 0
        func filled(_ value: Int64, _ row: (Encoding) -> [Int64]) -> [[Int64]] {
            rows.map { row($0) + Array(repeating: value, count: length - $0.ids.count) }
        }
        var tensors = [
            tensor(tokens, filled(padding) { $0.ids.map(Int64.init) }),
            tensor(
                name(.attentionMask) ?? SampleInputs.maskName,
                filled(0) { Array(repeating: 1, count: $0.ids.count) }),
        ]
        // Texts that are compared have types; a model takes 0 for those that are left out.
        if let types = name(.tokenTypes), rows.contains(where: { $0.typeIDs.contains { $0 != 0 } }) {
            tensors.append(tensor(types, filled(0) { $0.typeIDs.map(Int64.init) }))
        }
        let remark =
            unused == 0 ? nil : "\(path): samples are its first \(rows.count) lines; \(unused) more are not used"
        return Made(tensors: tensors, remark: remark)
    }

    /// Blocks of equal length, and whether these are the whole text but for less than a block; a text that fills none is one shorter
    /// block.
    private func blocks(by frontEnd: TextFrontEnd) throws -> (rows: [[Int64]], isWhole: Bool) {
        let start = try frontEnd.startToken().map { [$0] } ?? []
        let width = max(min(length, frontEnd.longestText ?? .max) - start.count, 1)
        var all: [Int64] = []
        var isWhole = true
        for piece in file.entries.lazy.flatMap(Self.pieces) {
            // Of a long text no more is divided into tokens than is needed.
            guard all.count < width * count else {
                isWhole = false
                break
            }
            let tokens = try frontEnd.tokens(of: piece)
            all += tokens.prefix(start.count) == start[...] ? tokens.dropFirst(start.count) : tokens[...]
        }
        guard all.count > width else { return ([start + all], isWhole) }
        let rows = (0..<min(all.count / width, count)).map { start + all[$0 * width..<($0 + 1) * width] }
        return (rows, isWhole && all.count < width * (count + 1))
    }

    private static let pieceBytes = 1 << 20

    /// The parts of a text, which end where a line does.
    private static func pieces(of entry: TextFile.Entry) -> [TextFile.Entry] {
        guard case .plain(let text) = entry, text.utf8.count > pieceBytes else { return [entry] }
        var pieces: [TextFile.Entry] = []
        var rest = text.utf8[...]
        while !rest.isEmpty {
            let least = rest.index(rest.startIndex, offsetBy: pieceBytes, limitedBy: rest.endIndex) ?? rest.endIndex
            let end = rest[least...].firstIndex(of: UInt8(ascii: "\n")).map { rest.index(after: $0) } ?? rest.endIndex
            pieces.append(.plain(String(text[rest.startIndex..<end])))
            rest = rest[end...]
        }
        return pieces
    }

    /// The lines that are not empty, which may be two texts with a tab between them, and the conversations. One that is too long loses
    /// its end. Also returns how many lines are left.
    private func lines(by frontEnd: TextFrontEnd) throws -> (rows: [Encoding], unused: Int) {
        let limit = min(length, frontEnd.longestText ?? .max)
        var rows: [Encoding] = []
        var unused = 0
        for line in file.lines {
            guard rows.count < count else {
                unused += line.entry.isBlank ? 0 : 1
                continue
            }
            let text = try frontEnd.text(of: line.entry)
            guard text.contains(where: { !$0.isWhitespace }) else { continue }
            let sides = TextFrontEnd.sides(of: text)
            let first = sides.second == nil ? frontEnd.defaultPrompt + sides.text : sides.text
            rows.append(try frontEnd.encoding(of: first, with: sides.second, limit: limit).encoding)
        }
        return (rows, unused)
    }

    private func tensor(_ name: String, _ rows: [[Int64]]) -> StoredTensor {
        StoredTensor(
            name: name, elementType: .int64, shape: [rows.count, rows.first?.count ?? 0],
            bytes: ByteView(rows.flatMap(\.self)))
    }
}
