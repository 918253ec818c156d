/// The normalizer of sentencepiece: the character map by longest prefixes, spaces that are reduced, marked as `▁`, and prepended.
struct SentencePieceNormalizer: Sendable {
    /// nil: no character is replaced.
    var map: CharacterMap?
    var addsPrefix: Bool
    var removesExtraSpaces: Bool
    var escapesSpaces: Bool
    /// Texts that stay as they are: user-defined tokens.
    var kept: PhraseMatcher?

    static let space: UInt32 = 0x2581

    func apply(to text: inout ScalarText) {
        var bytes: [UInt8] = []
        var starts: [Int] = []
        for scalar in text.scalars {
            starts.append(bytes.count)
            UTF8Text.append(scalar, to: &bytes)
        }
        var pieces: [(scalar: UInt32, old: Int)] = []
        bytes.withUnsafeBufferPointer { bytes in
            var old = 0
            while old < starts.count {
                let rest = UnsafeBufferPointer(rebasing: bytes[starts[old]...])
                if let kept, let found = kept.prefix(of: rest) {
                    let end = starts[old] + found.length
                    while old < starts.count, starts[old] < end {
                        pieces.append((text.scalars[old], old))
                        old += 1
                    }
                } else if let map, let found = map.prefix(of: rest, longest: true) {
                    pieces += map.scalars(found.replacement).map { ($0, old) }
                    let end = starts[old] + found.length
                    while old < starts.count, starts[old] < end { old += 1 }
                } else {
                    pieces.append((text.scalars[old], old))
                    old += 1
                }
            }
        }
        if removesExtraSpaces {
            var reduced: [(scalar: UInt32, old: Int)] = []
            for piece in pieces where piece.scalar != 0x20 || reduced.last.map({ $0.scalar != 0x20 }) ?? false {
                reduced.append(piece)
            }
            if reduced.last?.scalar == 0x20 { reduced.removeLast() }
            pieces = reduced
        }
        let mark = escapesSpaces ? Self.space : 0x20
        if addsPrefix, let first = pieces.first { pieces.insert((0x20, first.old), at: 0) }
        text.rebuild(pieces.map { ($0.scalar == 0x20 ? mark : $0.scalar, $0.old) })
    }
}
