/// A text that is cut into pieces, and the origin of its bytes in the original text.
struct PieceText {
    /// A part of the text: words for the model, or an added token.
    struct Piece {
        var start: Int
        var end: Int
        /// The number of an added token; -1 for text.
        var token: TokenID = -1
    }

    /// Valid UTF-8.
    var bytes: [UInt8] = []
    /// The range of the original text that each byte comes from. Empty while the text is the original.
    private(set) var starts: [Int32] = []
    private(set) var ends: [Int32] = []
    /// Origins are wanted.
    private(set) var tracksOrigins = false
    /// The text is the original so far, so that bytes have no recorded origin.
    private(set) var isOriginal = true
    /// Ascending, none is empty.
    var pieces: [Piece] = []
    private var oldBytes: [UInt8] = []
    private var oldStarts: [Int32] = []
    private var oldEnds: [Int32] = []
    private var oldPieces: [Piece] = []

    mutating func reset(tracksOrigins: Bool) {
        bytes.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        pieces.removeAll(keepingCapacity: true)
        self.tracksOrigins = tracksOrigins
        isOriginal = true
    }

    /// Appends a part of the original text as it is, which begins at byte `origin`.
    mutating func append(original part: UnsafeBufferPointer<UInt8>, origin: Int) {
        let start = bytes.count
        bytes.append(contentsOf: part)
        if tracksOrigins, !isOriginal { recordOrigins(start..<bytes.count, shift: origin - start) }
    }

    /// Appends rewritten text.
    mutating func append(_ text: ScalarText) {
        if isOriginal {
            isOriginal = false
            if tracksOrigins { recordOrigins(0..<bytes.count, shift: 0) }
        }
        for (index, scalar) in text.scalars.enumerated() {
            UTF8Text.append(scalar, to: &bytes)
            guard tracksOrigins else { continue }
            for _ in 0..<UTF8Text.length(of: scalar) {
                starts.append(text.starts[index])
                ends.append(text.ends[index])
            }
        }
    }

    /// Records that bytes come from the same bytes of the original, `shift` further on.
    private mutating func recordOrigins(_ range: Range<Int>, shift: Int) {
        var index = range.lowerBound
        while index < range.upperBound {
            let length = UTF8Text.length(bytes[index])
            for _ in 0..<length {
                starts.append(Int32(truncatingIfNeeded: index + shift))
                ends.append(Int32(truncatingIfNeeded: index + length + shift))
            }
            index += length
        }
    }

    /// Returns the range of the original text that some bytes of the text come from: whole scalars.
    /// - Parameter range: not empty, within the text.
    func origin(of range: Range<Int>) -> Range<Int> {
        if !isOriginal {
            let start = Int(starts[range.lowerBound])
            return start..<max(start, Int(ends[range.upperBound - 1]))
        }
        var (start, end) = (range.lowerBound, range.upperBound)
        while start > 0, UTF8Text.continues(bytes[start]) { start -= 1 }
        while end < bytes.count, UTF8Text.continues(bytes[end]) { end += 1 }
        return start..<end
    }

    /// Calls `body` for each piece of text with its bytes and a splitter, to which it tells where the piece is cut.
    mutating func split(
        _ behavior: SplitBehavior, inverted: Bool = false,
        _ body: (UnsafeBufferPointer<UInt8>, inout PieceSplitter) -> Void
    ) {
        swap(&pieces, &oldPieces)
        pieces.removeAll(keepingCapacity: true)
        var splitter = PieceSplitter(behavior, inverted: inverted, pieces: pieces)
        pieces = []
        bytes.withUnsafeBufferPointer { bytes in
            for piece in oldPieces {
                if piece.token >= 0 {
                    splitter.pieces.append(piece)
                    continue
                }
                splitter.begin(piece.start)
                body(UnsafeBufferPointer(rebasing: bytes[piece.start..<piece.end]), &splitter)
                splitter.finish(piece.end - piece.start)
            }
        }
        pieces = splitter.pieces
    }

    /// Rewrites the text: `body` appends what becomes of each piece of text.
    mutating func rewrite(_ body: (_ piece: Piece, _ isAtStart: Bool, inout PieceWriter) -> Void) {
        let atStart = pieces.first.map { $0.token < 0 && startsOriginal($0) } ?? false
        if isOriginal {
            isOriginal = false
            if tracksOrigins { recordOrigins(0..<bytes.count, shift: 0) }
        }
        swap(&bytes, &oldBytes)
        swap(&starts, &oldStarts)
        swap(&ends, &oldEnds)
        bytes.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        oldBytes.withUnsafeBufferPointer { old in
            var writer = PieceWriter(
                old: old, oldStarts: oldStarts, oldEnds: oldEnds, tracksOrigins: tracksOrigins, bytes: bytes,
                starts: starts,
                ends: ends)
            (bytes, starts, ends) = ([], [], [])
            for index in pieces.indices {
                let piece = pieces[index]
                pieces[index].start = writer.bytes.count
                if piece.token >= 0 {
                    writer.copy(piece.start..<piece.end)
                } else {
                    body(piece, index == 0 && atStart, &writer)
                }
                pieces[index].end = writer.bytes.count
            }
            (bytes, starts, ends) = (writer.bytes, writer.starts, writer.ends)
        }
        pieces.removeAll { $0.start == $0.end }
    }

    private func startsOriginal(_ piece: Piece) -> Bool {
        isOriginal ? piece.start == 0 : tracksOrigins && starts[piece.start] == 0
    }
}

/// Appends bytes with the origins of bytes of an older text.
struct PieceWriter {
    let old: UnsafeBufferPointer<UInt8>
    fileprivate let oldStarts: [Int32]
    fileprivate let oldEnds: [Int32]
    fileprivate let tracksOrigins: Bool
    fileprivate(set) var bytes: [UInt8]
    fileprivate var starts: [Int32]
    fileprivate var ends: [Int32]

    fileprivate init(
        old: UnsafeBufferPointer<UInt8>, oldStarts: [Int32], oldEnds: [Int32], tracksOrigins: Bool, bytes: [UInt8],
        starts: [Int32], ends: [Int32]
    ) {
        self.old = old
        self.oldStarts = oldStarts
        self.oldEnds = oldEnds
        self.tracksOrigins = tracksOrigins
        self.bytes = bytes
        self.starts = starts
        self.ends = ends
    }

    /// Appends bytes of the older text.
    mutating func copy(_ range: Range<Int>) {
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: old[range]))
        guard tracksOrigins else { return }
        starts.append(contentsOf: oldStarts[range])
        ends.append(contentsOf: oldEnds[range])
    }

    /// Appends new bytes with the origin of a byte of the older text.
    mutating func append(_ new: [UInt8], from byte: Int) {
        bytes.append(contentsOf: new)
        guard tracksOrigins else { return }
        starts.append(contentsOf: repeatElement(oldStarts[byte], count: new.count))
        ends.append(contentsOf: repeatElement(oldEnds[byte], count: new.count))
    }
}
