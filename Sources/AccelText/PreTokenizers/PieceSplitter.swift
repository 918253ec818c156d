/// The handling of the matches that a text is split at.
enum SplitBehavior: String, Sendable {
    case removed = "Removed"
    case isolated = "Isolated"
    case mergedWithPrevious = "MergedWithPrevious"
    case mergedWithNext = "MergedWithNext"
    case contiguous = "Contiguous"
}

/// Cuts pieces at matches.
struct PieceSplitter {
    private let behavior: SplitBehavior
    private let isInverted: Bool
    var pieces: [PieceText.Piece]
    /// The start of the piece that is cut, in the text.
    private var base = 0
    /// The end of the last match.
    private var last = 0
    private var pending: Range<Int>?
    private var wasMatch = false

    init(_ behavior: SplitBehavior, inverted: Bool, pieces: [PieceText.Piece]) {
        self.behavior = behavior
        isInverted = inverted
        self.pieces = pieces
    }

    mutating func begin(_ base: Int) {
        self.base = base
        last = 0
        pending = nil
        wasMatch = false
    }

    /// Takes the next match; offsets are those in the piece.
    @inline(__always)
    mutating func match(_ range: Range<Int>) {
        if last < range.lowerBound { take(last..<range.lowerBound, isInverted) }
        take(range, !isInverted)
        last = range.upperBound
    }

    /// Drops the text up to an offset.
    mutating func skip(to offset: Int) { last = offset }

    /// Ends a piece of `count` bytes.
    mutating func finish(_ count: Int) {
        if last < count { take(last..<count, isInverted) }
        if let pending { emit(pending) }
    }

    @inline(__always)
    private mutating func emit(_ range: Range<Int>) {
        if !range.isEmpty { pieces.append(.init(start: base + range.lowerBound, end: base + range.upperBound)) }
    }

    @inline(__always)
    private mutating func take(_ range: Range<Int>, _ isMatch: Bool) {
        switch behavior {
        case .isolated: emit(range)
        case .removed: if !isMatch { emit(range) }
        default: merge(range, isMatch)
        }
    }

    private mutating func merge(_ range: Range<Int>, _ isMatch: Bool) {
        let joins: Bool
        switch behavior {
        case .contiguous: joins = isMatch == wasMatch
        case .mergedWithPrevious: joins = isMatch && !wasMatch
        default: joins = !isMatch && wasMatch
        }
        if joins, let first = pending {
            pending = first.lowerBound..<range.upperBound
        } else {
            if let pending { emit(pending) }
            pending = range
        }
        wasMatch = isMatch
    }
}
