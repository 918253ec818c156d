/// A decoder that takes tokens as they come. What it gives, put together, is what `Decoder` gives for all tokens at once.
struct StreamStage: Sendable {
    private let decoder: Decoder
    /// The stages before have joined all tokens, so that what comes are parts of one token.
    private let takesParts: Bool
    private var hasBegun = false
    private var held: [UInt8] = []
    private var last: [UInt8]?
    private var cut = 0

    init(_ decoder: Decoder, takesParts: Bool) {
        self.decoder = decoder
        self.takesParts = takesParts
    }

    /// The stages of a decoder, in order.
    static func stages(_ decoder: Decoder) -> [StreamStage] {
        var stages: [StreamStage] = []
        var takesParts = false
        func add(_ decoder: Decoder) {
            if case .sequence(let steps) = decoder { return steps.forEach(add) }
            stages.append(StreamStage(decoder, takesParts: takesParts))
            switch decoder {
            case .byteLevel, .fuse: takesParts = true
            default: break
            }
        }
        add(decoder)
        return stages
    }

    /// Takes further tokens, and returns what is known by now.
    /// - Parameter isEnd: no others follow.
    mutating func take(_ tokens: TokenList, isEnd: Bool) -> TokenList {
        switch decoder {
        case .byteLevel: return takeByteLevel(tokens, isEnd)
        case .fuse: return tokens
        case .strip(let scalar, let start, let stop) where takesParts:
            return takeStripped(tokens, scalar, start, stop, isEnd)
        case .replace(let pattern, let content) where takesParts:
            guard let wanted = pattern.plainText else { return takeWhole(tokens, isEnd) }
            return takeReplaced(tokens, wanted, content, isEnd)
        case .byteFallback where !takesParts: return decoder.apply(to: complete(tokens, isEnd))
        case .sentencePiece(let dropsFirst) where !takesParts:
            let tokens = complete(tokens, isEnd)
            defer { hasBegun = hasBegun || tokens.count > 0 }
            return Decoder.sentencePiece(dropsFirst: dropsFirst && !hasBegun).apply(to: tokens)
        case .bpe(let suffix) where !takesParts: return takeSuffixed(tokens, suffix, isEnd)
        case .metaspace, .wordPiece, .ctc:
            if takesParts { return takeWhole(tokens, isEnd) }
            return takeOneByOne(tokens)
        case .replace, .strip: return takesParts ? takeWhole(tokens, isEnd) : decoder.apply(to: tokens)
        default: return takeWhole(tokens, isEnd)
        }
    }

    /// Waits for the whole text.
    private mutating func takeWhole(_ tokens: TokenList, _ isEnd: Bool) -> TokenList {
        held += tokens.bytes
        guard isEnd else { return TokenList() }
        var whole = TokenList()
        whole.append(held)
        held = []
        return decoder.apply(to: whole)
    }

    private mutating func takeByteLevel(_ tokens: TokenList, _ isEnd: Bool) -> TokenList {
        for index in 0..<tokens.count {
            tokens.withToken(index) { token in
                if !ByteAlphabet.appendBytes(of: token, to: &held) { held.append(contentsOf: token) }
            }
        }
        var known = held.count
        if !isEnd {
            held.withUnsafeBufferPointer { bytes in
                // The start of a scalar whose rest may follow.
                for start in stride(from: bytes.count - 1, through: max(0, bytes.count - 3), by: -1)
                where bytes[start] >= 0xC0 {
                    let (length, isValid) = UTF8Text.sequence(bytes, start)
                    if !isValid, start + length == bytes.count, bytes[start] >= 0xC2, bytes[start] <= 0xF4 {
                        known = start
                    }
                    break
                }
            }
        }
        var result = TokenList()
        held.withUnsafeBufferPointer { bytes in
            UTF8Text.appendRepaired(UnsafeBufferPointer(rebasing: bytes[..<known]), to: &result.bytes)
        }
        result.ends = [result.bytes.count]
        held.removeFirst(known)
        return result
    }

    /// Tokens whose text depends on whether they are the first, and on the one before.
    private mutating func takeOneByOne(_ tokens: TokenList) -> TokenList {
        var result = TokenList()
        for index in 0..<tokens.count {
            let token = tokens.token(index)
            var pair = TokenList()
            if let last { pair.append(last) }
            pair.append(token)
            let decoded = decoder.apply(to: pair)
            if case .ctc = decoder {
                // The earlier token may have no text.
                var first = TokenList()
                if let last { first.append(last) }
                for new in decoder.apply(to: first).count..<decoded.count { result.append(decoded.token(new)) }
            } else {
                result.append(decoded.token(pair.count - 1))
            }
            last = token
        }
        return result
    }

    /// Returns the tokens that are complete: byte tokens at the end wait for others.
    private mutating func complete(_ tokens: TokenList, _ isEnd: Bool) -> TokenList {
        var complete = TokenList()
        var waiting = TokenList()
        var all = TokenList()
        for start in stride(from: 0, to: held.count, by: 6) { all.append(held[start..<start + 6]) }
        for index in 0..<tokens.count { all.append(tokens.token(index)) }
        for index in 0..<all.count {
            let token = all.token(index)
            if token.withUnsafeBufferPointer({ Decoder.byte($0) }) != nil, !isEnd {
                waiting.append(token)
            } else {
                for earlier in 0..<waiting.count { complete.append(waiting.token(earlier)) }
                waiting = TokenList()
                complete.append(token)
            }
        }
        held = waiting.bytes
        return complete
    }

    private mutating func takeSuffixed(_ tokens: TokenList, _ suffix: [UInt8], _ isEnd: Bool) -> TokenList {
        var result = TokenList()
        for index in 0..<tokens.count {
            if let last { result.append(last.replacing(suffix, with: [0x20])) }
            last = tokens.token(index)
        }
        if isEnd, let last { result.append(last.replacing(suffix, with: [])) }
        if isEnd { last = nil }
        return result
    }

    private mutating func takeStripped(
        _ tokens: TokenList, _ scalar: UInt32, _ start: Int, _ stop: Int, _ isEnd: Bool
    ) -> TokenList {
        var mark: [UInt8] = []
        UTF8Text.append(scalar, to: &mark)
        held += tokens.bytes
        if !hasBegun {
            while cut < start, held.starts(with: mark) {
                held.removeFirst(mark.count)
                cut += 1
            }
            if !held.isEmpty { hasBegun = true }
        }
        var waiting = 0
        while waiting < stop, held.dropLast(waiting * mark.count).suffix(mark.count).elementsEqual(mark) {
            waiting += 1
        }
        let known = held.count - waiting * mark.count
        var result = TokenList()
        result.append(held[..<known])
        held.removeFirst(isEnd ? held.count : known)
        return result
    }

    private mutating func takeReplaced(
        _ tokens: TokenList, _ wanted: [UInt8], _ content: [UInt8], _ isEnd: Bool
    ) -> TokenList {
        held += tokens.bytes
        var result: [UInt8] = []
        var index = 0
        while index < held.count {
            let rest = held[index...]
            if rest.starts(with: wanted) {
                result += content
                index += wanted.count
            } else if !isEnd, wanted.starts(with: rest) {
                break
            } else {
                result.append(held[index])
                index += 1
            }
        }
        held.removeFirst(index)
        var list = TokenList()
        list.append(result)
        return list
    }
}
