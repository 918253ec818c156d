/// A step that makes text of tokens.
indirect enum Decoder: Sendable {
    case byteLevel
    case wordPiece(prefix: [UInt8], cleansUp: Bool)
    case metaspace(replacement: [UInt8], dropsFirst: Bool)
    case bpe(suffix: [UInt8])
    case byteFallback
    case fuse
    case strip(UInt32, start: Int, stop: Int)
    case replace(Pattern, with: [UInt8])
    case ctc(pad: [UInt8], delimiter: [UInt8], cleansUp: Bool)
    /// Tokens of sentencepiece, whose bytes that are no UTF-8 become U+FFFD one by one.
    case sentencePiece(dropsFirst: Bool)
    case sequence([Decoder])

    func apply(to tokens: TokenList) -> TokenList {
        switch self {
        case .byteLevel: return Self.byteLevel(tokens)
        case .wordPiece(let prefix, let cleansUp):
            return tokens.mapped { index, token in
                var token = token
                if index > 0 {
                    token = token.starts(with: prefix) ? Array(token.dropFirst(prefix.count)) : [0x20] + token
                }
                return cleansUp ? Self.cleanUp(token) : token
            }
        case .metaspace(let mark, let dropsFirst):
            return tokens.mapped { index, token in token.replacing(mark, with: index == 0 && dropsFirst ? [] : [0x20]) }
        case .bpe(let suffix):
            return tokens.mapped { index, token in
                token.replacing(suffix, with: index + 1 == tokens.count ? [] : [0x20])
            }
        case .byteFallback: return Self.byteFallback(tokens)
        case .fuse:
            var result = TokenList()
            result.append(tokens.bytes)
            return result
        case .strip(let scalar, let start, let stop):
            return tokens.mapped { _, token in Self.strip(token, scalar, start, stop) }
        case .replace(let pattern, let content):
            var scratch = PatternScratch()
            return tokens.mapped { _, token in
                var result: [UInt8] = []
                var last = 0
                token.withUnsafeBufferPointer { bytes in
                    // Nothing is found in an empty token.
                    guard !bytes.isEmpty else { return }
                    pattern.matches(in: bytes, &scratch) { match in
                        result += token[last..<match.lowerBound]
                        result += content
                        last = match.upperBound
                    }
                }
                return result + token[last...]
            }
        case .ctc(let pad, let delimiter, let cleansUp): return Self.ctc(tokens, pad, delimiter, cleansUp)
        case .sentencePiece(let dropsFirst): return Self.sentencePiece(tokens, dropsFirst)
        case .sequence(let steps): return steps.reduce(tokens) { $1.apply(to: $0) }
        }
    }

    private static func byteLevel(_ tokens: TokenList) -> TokenList {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(tokens.bytes.count)
        for index in 0..<tokens.count {
            tokens.withToken(index) { token in
                if !ByteAlphabet.appendBytes(of: token, to: &bytes) { bytes.append(contentsOf: token) }
            }
        }
        var result = TokenList()
        bytes.withUnsafeBufferPointer { UTF8Text.appendRepaired($0, to: &result.bytes) }
        result.ends = [result.bytes.count]
        return result
    }

    /// The byte of a token such as `<0x0A>`; nil for another.
    static func byte(_ token: UnsafeBufferPointer<UInt8>) -> UInt8? {
        guard token.count == 6, token.starts(with: Array("<0x".utf8)), token[5] == UInt8(ascii: ">") else { return nil }
        func digit(_ byte: UInt8) -> UInt8? {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
            default: nil
            }
        }
        // A sign before one digit is a number, too, as `tokenizers` reads it.
        if token[3] == UInt8(ascii: "+") { return digit(token[4]) }
        guard let high = digit(token[3]), let low = digit(token[4]) else { return nil }
        return high << 4 | low
    }

    private static func byteFallback(_ tokens: TokenList) -> TokenList {
        var result = TokenList()
        var run: [UInt8] = []
        func flush() {
            guard !run.isEmpty else { return }
            let isValid = run.withUnsafeBufferPointer { UTF8Text.validPrefix($0) == $0.count }
            if isValid { result.append(run) } else { run.forEach { _ in result.append(UTF8Text.replacement) } }
            run = []
        }
        for index in 0..<tokens.count {
            if let byte = tokens.withToken(index, { byte($0) }) {
                run.append(byte)
            } else {
                flush()
                result.append(tokens.token(index))
            }
        }
        flush()
        return result
    }

    private static func sentencePiece(_ tokens: TokenList, _ dropsFirst: Bool) -> TokenList {
        var result = TokenList()
        var bytes: [UInt8] = []
        func flush() {
            var rest = bytes[...]
            while let first = rest.first {
                let (length, isValid) =
                    first < 0x80 ? (1, true) : Array(rest).withUnsafeBufferPointer { UTF8Text.sequence($0, 0) }
                result.bytes += isValid ? Array(rest.prefix(length)) : UTF8Text.replacement
                rest = rest.dropFirst(isValid ? length : 1)
            }
            bytes = []
        }
        let mark: [UInt8] = [0xE2, 0x96, 0x81]
        for index in 0..<tokens.count {
            if let byte = tokens.withToken(index, { byte($0) }) {
                bytes.append(byte)
                continue
            }
            flush()
            var token = tokens.token(index)
            if dropsFirst, result.bytes.isEmpty, index == 0, token.starts(with: mark) { token.removeFirst(mark.count) }
            result.bytes += token.replacing(mark, with: [0x20])
        }
        flush()
        result.ends = [result.bytes.count]
        return result
    }

    private static func strip(_ token: [UInt8], _ scalar: UInt32, _ start: Int, _ stop: Int) -> [UInt8] {
        var mark: [UInt8] = []
        UTF8Text.append(scalar, to: &mark)
        var text = token[...]
        var count = 0
        while count < start, text.starts(with: mark) {
            text = text.dropFirst(mark.count)
            count += 1
        }
        count = 0
        while count < stop, text.count >= mark.count, text.suffix(mark.count).elementsEqual(mark) {
            text = text.dropLast(mark.count)
            count += 1
        }
        return Array(text)
    }

    private static func ctc(_ tokens: TokenList, _ pad: [UInt8], _ delimiter: [UInt8], _ cleansUp: Bool) -> TokenList {
        var last: [UInt8]?
        return tokens.mapped { _, token in
            defer { last = token }
            guard token != last else { return nil }
            var text = token.replacing(pad, with: [])
            if cleansUp { text = cleanUp(text).replacing(delimiter, with: [0x20]) }
            return text.isEmpty ? nil : text
        }
    }

    private static let cleanings: [(old: [UInt8], new: [UInt8])] = [
        (" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m"),
        (" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"),
    ].map { (Array($0.utf8), Array($1.utf8)) }

    /// Removes the spaces that English has not: before punctuation, and in contractions.
    private static func cleanUp(_ text: [UInt8]) -> [UInt8] {
        guard text.contains(0x20) else { return text }
        return cleanings.reduce(text) { $0.replacing($1.old, with: $1.new) }
    }
}
