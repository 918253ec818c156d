/// A step that rewrites text before it is split.
indirect enum Normalizer: Sendable {
    case bert(BertNormalizer)
    case form(Normalization)
    case lowercase
    case stripAccents
    case strip(left: Bool, right: Bool)
    case replace(Pattern, with: [UInt32])
    case prepend([UInt32])
    case characterMap(CharacterMap)
    case nmt
    case byteLevel
    case sentencePiece(SentencePieceNormalizer)
    case sequence([Normalizer])

    /// Normalizes a text.
    func apply(to text: inout ScalarText, _ scratch: inout PatternScratch) {
        switch self {
        case .bert(let bert): bert.apply(to: &text)
        case .form(let form): form.apply(to: &text)
        case .lowercase: Self.lowercase(&text)
        case .stripAccents: text.filter { !UnicodeData.marks.contains($0) }
        case .strip(let left, let right): Self.strip(&text, left, right)
        case .replace(let pattern, let content): text.replace(pattern, content, &scratch)
        case .prepend(let scalars): text.prepend(scalars)
        case .characterMap(let map): map.apply(to: &text)
        case .nmt: Self.nmt(&text)
        case .byteLevel:
            text.mapEach { scalar, append in ByteAlphabet.bytes(of: scalar) { append(ByteAlphabet.scalar($0)) } }
        case .sentencePiece(let normalizer): normalizer.apply(to: &text)
        case .sequence(let steps): for step in steps { step.apply(to: &text, &scratch) }
        }
    }

    /// ASCII text that this step leaves as it is needs no rewriting.
    func leavesASCII(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        switch self {
        case .form, .stripAccents: return bytes.allSatisfy { $0 < 0x80 }
        case .sequence(let steps): return steps.allSatisfy { $0.leavesASCII(bytes) }
        default: return false
        }
    }

    static func lowercase(_ text: inout ScalarText) {
        let table = UnicodeData.lowercase
        if text.scalars.allSatisfy({ $0 < 0x80 }) {
            return text.replaceEach { $0 &- 0x41 < 26 ? $0 + 32 : $0 }
        }
        text.mapEach { scalar, append in
            guard let range = table.find(scalar) else { return append(scalar) }
            for index in range { append(table[index]) }
        }
    }

    private static func strip(_ text: inout ScalarText, _ left: Bool, _ right: Bool) {
        let isSpace = { (scalar: UInt32) in UnicodeData.whiteSpace.contains(scalar) }
        let leading = left ? text.scalars.prefix(while: isSpace).count : 0
        text.removeFirst(leading)
        let trailing = right ? text.scalars.reversed().prefix(while: isSpace).count : 0
        text.removeLast(trailing)
    }

    private static func nmt(_ text: inout ScalarText) {
        text.filter { scalar in
            switch scalar {
            case 0x1...0x8, 0xB, 0xE...0x1F, 0x7F, 0x8F, 0x9F: false
            default: true
            }
        }
        text.replaceEach { scalar in
            switch scalar {
            case 0x9, 0xA, 0xC, 0xD, 0x1680, 0x200B...0x200F, 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD: 0x20
            default: scalar
            }
        }
    }
}

/// The cleaning of BERT: control characters, spaces around ideographs, accents, case.
struct BertNormalizer: Sendable {
    var cleansText: Bool
    var separatesIdeographs: Bool
    var stripsAccents: Bool
    var lowercases: Bool

    func apply(to text: inout ScalarText) {
        if cleansText {
            text.filter { !UnicodeData.bertControl.contains($0) }
            text.replaceEach { $0 > 0x20 && $0 < 0x80 || !UnicodeData.whiteSpace.contains($0) ? $0 : 0x20 }
        }
        if separatesIdeographs, text.scalars.contains(where: Self.isIdeograph) {
            text.mapEach { scalar, append in
                if Self.isIdeograph(scalar) { append(0x20) }
                append(scalar)
                if Self.isIdeograph(scalar) { append(0x20) }
            }
        }
        if stripsAccents {
            Normalization.canonicalDecomposition.apply(to: &text)
            text.filter { $0 < 0x300 || !UnicodeData.bertMarks.contains($0) }
        }
        if lowercases { Normalizer.lowercase(&text) }
    }

    private static func isIdeograph(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0..<0x3400: false
        case 0x4E00...0x9FFF, 0x3400...0x4DBF, 0x20000...0x2A6DF, 0x2A700...0x2B73F, 0x2B740...0x2B81F,
            0x2B920...0x2CEAF,
            0xF900...0xFAFF, 0x2F800...0x2FA1F:
            true
        default: false
        }
    }
}
