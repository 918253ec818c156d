import AccelByteIO
public import AccelText

extension TextFrontEnd {
    /// Divides a line at its first tab into two texts that are compared.
    public static func sides(of line: String) -> (text: String, second: String?) {
        let sides = line.split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        return (sides.first ?? "", sides.count > 1 ? sides[1] : nil)
    }

    /// The tokens of a text, or of two texts that are compared, as many as `limit`: those that are lost are at the ends of the texts, the
    /// longer one's first, as transformers and tokenizers take them.
    /// - Returns: the tokens, and how many were lost.
    /// - Throws: `RequestError` if the special tokens alone reach the limit.
    public func encoding(
        of text: String, with second: String? = nil, limit: Int
    ) throws -> (encoding: Encoding, lost: Int) {
        let whole = try second.map { try tokenizer.encodePair(text, $0) } ?? tokenizer.encoding(of: text)
        let lost = whole.ids.count - limit
        guard lost > 0 else { return (whole, 0) }
        let texts = [text] + (second.map { [$0] } ?? [])
        let parts = try texts.map { try tokenizer.encoding(of: $0, addSpecialTokens: false).ids }
        let room = limit - (whole.ids.count - parts.reduce(0) { $0 + $1.count })
        guard room > 0 else {
            throw RequestError("the special tokens around a text leave no room for it in \(limit) tokens")
        }
        let kept = Self.lengths(parts.map(\.count), in: room)
        var cut = whole
        var start = 0
        for (part, kept) in zip(parts, kept) {
            // Special tokens stand before and after each text.
            while start + part.count < cut.ids.count, cut.ids[start..<start + part.count] != part[...] { start += 1 }
            cut.remove(start + kept..<start + part.count)
            start += kept
        }
        return (cut, lost)
    }

    /// How many tokens of each text stay.
    private static func lengths(_ counts: [Int], in room: Int) -> [Int] {
        guard counts.count == 2 else { return [min(counts[0], room)] }
        let isSwapped = counts[0] > counts[1]
        var (shorter, longer) = isSwapped ? (counts[1], counts[0]) : (counts[0], counts[1])
        longer = shorter > room ? shorter : max(shorter, room - shorter)
        if shorter + longer > room { (shorter, longer) = (room / 2, room - room / 2) }
        return isSwapped ? [longer, shorter] : [shorter, longer]
    }
}

extension Encoding {
    fileprivate mutating func remove(_ range: Range<Int>) {
        ids.removeSubrange(range)
        typeIDs.removeSubrange(range)
        offsets.removeSubrange(range)
    }
}
