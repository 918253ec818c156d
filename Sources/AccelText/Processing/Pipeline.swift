import AccelByteIO

/// The parts of a tokenizer, in the order in which a text passes them.
struct Pipeline: Sendable {
    var addedTokens: AddedTokens
    var normalizer: Normalizer?
    var preTokenizer: PreTokenizer?
    var model: Model
    var postProcessor: PostProcessor?
    var decoder: Decoder?
    /// The file, for errors.
    var file: String

    /// Makes the tokens of one text.
    func segment(_ work: inout EncodingWork, wantsOffsets: Bool, type: Int32) throws -> Segment {
        let needsOrigins = wantsOffsets || (preTokenizer?.needsOrigins ?? false)
        work.pieces.reset(tracksOrigins: needsOrigins)
        normalize(&work)
        let passesBytes = model.takesBytes && (preTokenizer?.endsWithBytes ?? false)
        preTokenizer?.apply(to: &work.pieces, mapsBytes: !passesBytes, &work.patterns)
        return try tokenize(&work, mapsBytes: passesBytes, wantsOffsets, type)
    }

    /// Cuts the original at added tokens, normalizes what is between them, and cuts that at the tokens that are found there.
    private func normalize(_ work: inout EncodingWork) {
        guard !work.original.isEmpty else { return }
        var original: [UInt8] = []
        swap(&original, &work.original)
        original.withUnsafeBufferPointer { text in
            guard !addedTokens.plain.isEmpty else { return normalize(text, 0..<text.count, -1, &work) }
            addedTokens.plain.parts(of: text) { range, token in normalize(text, range, token, &work) }
        }
        swap(&original, &work.original)
    }

    private func normalize(
        _ text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, _ token: TokenID, _ work: inout EncodingWork
    ) {
        let part = UnsafeBufferPointer(rebasing: text[range])
        let start = work.pieces.bytes.count
        if token < 0, let normalizer, !normalizer.leavesASCII(part) {
            work.scalars.assign(part, base: range.lowerBound, tracksOrigins: work.pieces.tracksOrigins)
            normalizer.apply(to: &work.scalars, &work.patterns)
            work.pieces.append(work.scalars)
        } else {
            work.pieces.append(original: part, origin: range.lowerBound)
        }
        let end = work.pieces.bytes.count
        guard start < end else { return }
        guard token < 0, !addedTokens.normalized.isEmpty else {
            work.pieces.pieces.append(.init(start: start, end: end, token: token))
            return
        }
        var found: [PieceText.Piece] = []
        work.pieces.bytes.withUnsafeBufferPointer { bytes in
            addedTokens.normalized.parts(of: UnsafeBufferPointer(rebasing: bytes[start..<end])) { range, token in
                if range.isEmpty { return }
                found.append(.init(start: start + range.lowerBound, end: start + range.upperBound, token: token))
            }
        }
        work.pieces.pieces += found
    }

    private func tokenize(
        _ work: inout EncodingWork, mapsBytes: Bool, _ wantsOffsets: Bool, _ type: Int32
    ) throws -> Segment {
        var segment = Segment(encoding: Encoding())
        let trims = wantsOffsets && (postProcessor?.trimsOffsets ?? false)
        work.output.removeAll()
        var isKnown = true
        let pieces = work.pieces
        pieces.bytes.withUnsafeBufferPointer { bytes in
            for piece in pieces.pieces {
                let first = work.output.ids.count
                let word = UnsafeBufferPointer(rebasing: bytes[piece.start..<piece.end])
                if piece.token >= 0 {
                    work.output.append(piece.token, 0, Int32(truncatingIfNeeded: word.count))
                } else {
                    isKnown = model.append(word, mapsBytes: mapsBytes, &work.model, to: &work.output)
                    guard isKnown else { return }
                }
                guard wantsOffsets else { continue }
                for index in first..<work.output.ids.count {
                    let (start, end) = (Int(work.output.starts[index]), Int(work.output.ends[index]))
                    segment.encoding.offsets.append(Self.origin(pieces, piece, start, end, work.original))
                    if trims {
                        segment.spaces.append(
                            spaces(work.output.ids[index], word, start..<end, isAdded: piece.token >= 0))
                    }
                }
            }
        }
        guard isKnown else {
            throw RequestError(
                "\(file): the text has a character that is not in the vocabulary, which has no token for unknown ones")
        }
        segment.encoding.ids = work.output.ids
        segment.encoding.typeIDs = [Int32](repeating: type, count: work.output.ids.count)
        if trims { segment.text = work.original }
        return segment
    }

    /// Returns the range of the original text of a token.
    private static func origin(
        _ text: PieceText, _ piece: PieceText.Piece, _ start: Int, _ end: Int, _ original: [UInt8]
    ) -> Range<Int> {
        guard piece.start + end <= piece.end else { return excess(start, end, original) }
        guard start < end else {
            let shift = text.origin(of: piece.start..<piece.start + 1).lowerBound
            return shift + start..<shift + start
        }
        return text.origin(of: piece.start + start..<piece.start + end)
    }

    /// Returns the range of a token that is longer than its piece, because the bytes of a suffix are tokens: as `tokenizers` does, offsets in
    /// the piece count as those in the text, at starts of scalars.
    private static func excess(_ start: Int, _ end: Int, _ original: [UInt8]) -> Range<Int> {
        func floor(_ offset: Int) -> Int {
            var offset = min(offset, original.count)
            while offset > 0, offset < original.count, UTF8Text.continues(original[offset]) { offset -= 1 }
            return offset
        }
        guard start < original.count else { return original.count..<original.count }
        if end <= original.count { return floor(start)..<max(floor(start), floor(end)) }
        // Beyond the text, two scalars.
        var last = floor(start)
        for _ in 0..<2 where last < original.count { last += UTF8Text.length(original[last]) }
        return floor(start)..<last
    }

    /// Returns how many white characters, or marks of spaces in the byte alphabet, a token's text begins and ends with.
    private func spaces(
        _ id: TokenID, _ word: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, isAdded: Bool
    ) -> (leading: Int, trailing: Int) {
        var text: [UInt32] = []
        if (isAdded || model.tokensHaveOwnText), range.upperBound <= word.count {
            text = Array(word[range]).scalars
        } else {
            text = model.vocabulary.withToken(id) { Array($0) }?.scalars ?? []
        }
        let isSpace = { (scalar: UInt32) in
            scalar == ByteAlphabet.scalar(0x20) || UnicodeData.whiteSpace.contains(scalar)
        }
        return (text.prefix(while: isSpace).count, text.reversed().prefix(while: isSpace).count)
    }

    /// Returns the text of a token for decoders; nil for a number without token, and for a special token that is skipped.
    func text(of id: TokenID, skipsSpecialTokens: Bool) -> [UInt8]? {
        guard let text = addedTokens.text(id) ?? model.vocabulary.withToken(id, { Array($0) }) else { return nil }
        return skipsSpecialTokens && addedTokens.hasSpecial && addedTokens.isSpecial(text) ? nil : text
    }

    /// Returns the text of tokens.
    func decode(_ ids: some Sequence<TokenID>, skipsSpecialTokens: Bool) -> String {
        var tokens = TokenList()
        for id in ids {
            if let text = text(of: id, skipsSpecialTokens: skipsSpecialTokens) { tokens.append(text) }
        }
        guard let decoder else {
            let texts = (0..<tokens.count).map { tokens.token($0) }
            return String(decoding: Array(texts.joined(separator: [0x20])), as: UTF8.self)
        }
        return String(decoding: decoder.apply(to: tokens).bytes, as: UTF8.self)
    }
}
