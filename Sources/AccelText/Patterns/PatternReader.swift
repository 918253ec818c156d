/// Why a pattern cannot be used, and where.
struct PatternProblem: Error {
    /// The offset in the pattern, in scalars.
    let position: Int
    let reason: String
}

/// The scalars of a pattern, read one after the other.
struct PatternReader {
    private let text: [Unicode.Scalar]
    private(set) var position = 0
    private var depth = 0
    private static let deepest = 64

    init(_ pattern: String) { text = Array(pattern.unicodeScalars) }

    func problem(_ reason: String, at position: Int? = nil) -> PatternProblem {
        PatternProblem(position: position ?? self.position, reason: reason)
    }

    /// The scalar at the position; nil at the end.
    var next: Unicode.Scalar? { scalar(after: 0) }

    /// The scalar `count` scalars after the position; nil at the end.
    func scalar(after count: Int) -> Unicode.Scalar? {
        position + count < text.count ? text[position + count] : nil
    }

    /// Consumes a scalar, and returns it; nil at the end.
    mutating func take() -> Unicode.Scalar? {
        guard let scalar = next else { return nil }
        position += 1
        return scalar
    }

    /// Consumes a mark if it is next.
    mutating func skip(_ mark: String) -> Bool {
        for (offset, wanted) in mark.unicodeScalars.enumerated() where scalar(after: offset) != wanted { return false }
        position += mark.unicodeScalars.count
        return true
    }

    /// Consumes scalars up to one that `stops` accepts, or to the end, and returns them.
    mutating func take(until stops: (Unicode.Scalar) -> Bool) -> String {
        var taken = ""
        while let scalar = next, !stops(scalar) {
            taken.unicodeScalars.append(scalar)
            position += 1
        }
        return taken
    }

    /// Goes back to a position that was read before.
    mutating func rewind(to position: Int) { self.position = min(position, self.position) }

    /// Enters a group or a class, which `leave` ends.
    /// - Parameter what: what is nested, for the error.
    mutating func enter(_ what: String) throws(PatternProblem) {
        depth += 1
        guard depth <= Self.deepest else { throw problem("more than \(Self.deepest) levels of \(what)") }
    }

    mutating func leave() { depth -= 1 }

    /// Reads decimal digits; nil for none. Numbers above a million are that.
    mutating func number() -> Int? {
        var value: Int?
        while let digit = next.flatMap({ $0.isASCII ? Character($0).wholeNumberValue : nil }) {
            value = min((value ?? 0) * 10 + digit, 1_000_000)
            position += 1
        }
        return value
    }

    /// Reads the digits of a scalar's number.
    /// - Parameter start: the position of the escape, for errors.
    mutating func scalarNumber(
        radix: UInt32, atMost most: Int, atLeast least: Int, _ start: Int
    ) throws(PatternProblem) -> UInt32 {
        var value: UInt32 = 0
        var count = 0
        while count < most, let next, next.isASCII, let digit = Character(next).hexDigitValue, digit < radix {
            value = value * radix + UInt32(digit)
            guard value < ScalarRanges.limit else { throw problem("no Unicode scalar", at: start) }
            count += 1
            position += 1
        }
        guard count >= least else { throw problem("expected a hexadecimal digit") }
        return value
    }
}
