import AccelByteIO

/// A step that cuts text into pieces for the model.
indirect enum PreTokenizer: Sendable {
    case bert
    case byteLevel(addsPrefixSpace: Bool, words: Pattern?)
    case delimiter(UInt32)
    case digits(individual: Bool)
    case fixedLength(Int)
    case metaspace(Metaspace)
    case punctuation(SplitBehavior)
    case split(Pattern, SplitBehavior, inverted: Bool)
    case unicodeScripts
    case whitespace
    case whitespaceSplit
    case sequence([PreTokenizer])

    /// Cuts the pieces of a text.
    /// - Parameter mapsBytes: false leaves the last byte-level step's mapping of bytes to the model.
    func apply(to text: inout PieceText, mapsBytes: Bool, _ scratch: inout PatternScratch) {
        switch self {
        case .bert:
            Self.split(&text, .removed, UnicodeData.whiteSpace)
            Self.split(&text, .isolated, UnicodeData.punctuation)
        case .byteLevel(let addsPrefixSpace, let words):
            if addsPrefixSpace { Self.prefix(&text, [0x20]) }
            if let words {
                text.split(.isolated) { bytes, splitter in
                    words.matches(in: bytes, &scratch) { splitter.match($0) }
                }
            }
            if mapsBytes { Self.mapBytes(&text) }
        case .delimiter(let scalar): Self.split(&text, .removed) { $0 == scalar }
        case .digits(let individual): Self.split(&text, individual ? .isolated : .contiguous, UnicodeData.numeric)
        case .fixedLength(let length): Self.cut(&text, length)
        case .metaspace(let metaspace): metaspace.apply(to: &text)
        case .punctuation(let behavior): Self.split(&text, behavior, UnicodeData.punctuation)
        case .split(let pattern, let behavior, let inverted):
            text.split(behavior, inverted: inverted) { bytes, splitter in
                pattern.matches(in: bytes, &scratch) { splitter.match($0) }
            }
        case .unicodeScripts: Self.splitScripts(&text)
        case .whitespace: Self.splitWords(&text)
        case .whitespaceSplit: Self.split(&text, .removed, UnicodeData.whiteSpace)
        case .sequence(let steps):
            for (index, step) in steps.enumerated() {
                step.apply(to: &text, mapsBytes: mapsBytes || index + 1 < steps.count, &scratch)
            }
        }
    }

    /// The last step maps bytes to the alphabet of byte-level vocabularies.
    var endsWithBytes: Bool {
        switch self {
        case .byteLevel: true
        case .sequence(let steps): steps.last?.endsWithBytes ?? false
        default: false
        }
    }

    /// The result depends on whether a piece is the start of the original text.
    var needsOrigins: Bool {
        switch self {
        case .metaspace(let metaspace): metaspace.prefix == .first
        case .sequence(let steps): steps.contains { $0.needsOrigins }
        default: false
        }
    }

    /// The pattern of GPT-2.
    static let wordExpression =
        #"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"#

    private static func split(_ text: inout PieceText, _ behavior: SplitBehavior, _ set: ScalarSet) {
        split(&text, behavior) { set.contains($0) }
    }

    @inline(__always)
    private static func split(_ text: inout PieceText, _ behavior: SplitBehavior, _ isDelimiter: (UInt32) -> Bool) {
        text.split(behavior) { bytes, splitter in
            var index = 0
            while index < bytes.count {
                let (scalar, length) = UTF8Text.scalar(bytes, index)
                if isDelimiter(scalar) { splitter.match(index..<index + length) }
                index += length
            }
        }
    }

    /// Pieces of word characters, and of others that are no spaces: `\w+|[^\w\s]+`.
    private static func splitWords(_ text: inout PieceText) {
        let (word, space) = (UnicodeData.word, UnicodeData.whiteSpace)
        text.split(.removed, inverted: true) { bytes, splitter in
            var (start, kind, index) = (0, 0, 0)
            func end(_ index: Int) {
                if kind != 0 { splitter.match(start..<index) }
            }
            while index < bytes.count {
                let (scalar, length) = UTF8Text.scalar(bytes, index)
                let next = word.contains(scalar) ? 1 : space.contains(scalar) ? 0 : 2
                if next != kind {
                    end(index)
                    (start, kind) = (index, next)
                }
                index += length
            }
            end(bytes.count)
        }
    }

    /// Pieces of one script; Hiragana and Katakana count as Han.
    private static func splitScripts(_ text: inout PieceText) {
        text.split(.isolated) { bytes, splitter in
            var (last, start, index): (UInt8?, Int, Int) = (nil, 0, 0)
            var isFirst = true
            while index < bytes.count {
                let (scalar, length) = UTF8Text.scalar(bytes, index)
                let script = UnicodeData.scriptClass[scalar]
                if script != 0 {
                    if last != script {
                        // What comes before the first script is lost, as `tokenizers` loses it.
                        if isFirst {
                            splitter.skip(to: index)
                        } else {
                            splitter.match(start..<index)
                        }
                        (start, isFirst) = (index, false)
                    }
                    last = script
                }
                index += length
            }
            if isFirst { splitter.skip(to: bytes.count) } else { splitter.match(start..<bytes.count) }
        }
    }

    private static func cut(_ text: inout PieceText, _ length: Int) {
        text.split(.isolated) { bytes, splitter in
            var (start, count, index) = (0, 0, 0)
            while index < bytes.count {
                index += UTF8Text.length(bytes[index])
                count += 1
                if count == length {
                    splitter.match(start..<index)
                    (start, count) = (index, 0)
                }
            }
        }
    }

    /// Prepends bytes to the pieces that do not begin with them.
    static func prefix(_ text: inout PieceText, _ prefix: [UInt8]) {
        let isNeeded = text.pieces.contains { $0.token < 0 && text.bytes[$0.start] != prefix[0] }
        guard isNeeded else { return }
        text.rewrite { piece, _, writer in
            if writer.old[piece.start] != prefix[0] { writer.append(prefix, from: piece.start) }
            writer.copy(piece.start..<piece.end)
        }
    }

    private static func mapBytes(_ text: inout PieceText) {
        text.rewrite { piece, _, writer in
            for index in piece.start..<piece.end {
                var mapped: [UInt8] = []
                UTF8Text.append(ByteAlphabet.scalar(writer.old[index]), to: &mapped)
                writer.append(mapped, from: index)
            }
        }
    }
}

/// Spaces as a visible scalar, such as `▁`.
struct Metaspace: Sendable {
    enum Prefix: String, Sendable { case always, first, never }

    var replacement: UInt32
    var prefix: Prefix
    var splits: Bool

    func apply(to text: inout PieceText) {
        var mark: [UInt8] = []
        UTF8Text.append(replacement, to: &mark)
        text.rewrite { piece, isAtStart, writer in
            let first = writer.old[piece.start]
            let startsWithMark =
                first == 0x20 || writer.old[piece.start..<piece.end].starts(with: mark)
            if !startsWithMark, prefix == .always || prefix == .first && isAtStart {
                writer.append(mark, from: piece.start)
            }
            var start = piece.start
            for index in piece.start..<piece.end where writer.old[index] == 0x20 {
                writer.copy(start..<index)
                writer.append(mark, from: index)
                start = index + 1
            }
            writer.copy(start..<piece.end)
        }
        guard splits else { return }
        let replacement = replacement
        text.split(.mergedWithNext) { bytes, splitter in
            var index = 0
            while index < bytes.count {
                let (scalar, length) = UTF8Text.scalar(bytes, index)
                if scalar == replacement { splitter.match(index..<index + length) }
                index += length
            }
        }
    }
}
