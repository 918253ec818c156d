import AccelByteIO

/// The frames before and after a frame that its samples depend on.
struct CodeReach: Equatable, Sendable {
    var before, after: Int
}

/// One run of a vocoder over frames.
struct CodeWindow: Equatable, Sendable {
    /// The first frame of the function's inputs. Those before frame 0 and after the last frame hold any codes.
    let start: Int
    /// The frames that the function takes.
    let length: Int
    /// The frames whose samples are those of all frames decoded at once.
    let kept: Range<Int>
}

/// Divides a speech that goes on into runs of functions with fixed lengths. The kept frames of each run have their whole reach in it,
/// or the beginning or the end of the speech where the function's inputs begin or end.
struct CodeWindows: Sendable {
    /// The lengths of the functions, from the shortest to the longest.
    private let lengths: [Int]
    private let reach: CodeReach
    /// The frames so far.
    private(set) var count = 0
    /// The frames whose samples have been made.
    private(set) var decoded = 0
    /// Whether no frames follow.
    private(set) var isComplete = false

    /// - Throws: `AccelError` (unsupported) if no function is long enough for a frame with its whole reach.
    init(lengths: [Int], reach: CodeReach, at path: String) throws(AccelError) {
        (self.lengths, self.reach) = (Set(lengths).sorted(), reach)
        let least = reach.before + 1 + reach.after
        guard let longest = self.lengths.last, longest >= least else {
            throw AccelError(
                .unsupported, expected: "a function of at least \(least) frames",
                found: "at most \(self.lengths.last ?? 0)", at: path,
                hint: "convert the vocoder with a larger shape, such as batch=1,frames=\(2 * least)")
        }
    }

    mutating func append(_ frames: Int) { count += frames }
    mutating func finish() { isComplete = true }

    /// Marks the kept frames of a run as decoded.
    mutating func advance(past window: CodeWindow) { decoded = max(decoded, window.kept.upperBound) }

    /// Returns the next run; nil if more frames are needed, or if all have been decoded. Of the functions that frames fill, the longest one
    /// runs; the end of a speech may fill the shortest one only partly.
    ///
    /// A speech shorter than `before + after` for which no function has the exact length is decoded with repeated frames after its end;
    /// then the frames that reach both ends differ from those of such a function.
    func next() -> CodeWindow? {
        guard decoded < count else { return nil }
        let start = max(decoded - reach.before, 0)
        let whole = lengths.last { start + $0 <= count && $0 > reach.before + reach.after }
        if isComplete, let last = ending(isFilled: true) { return last }
        if let whole { return CodeWindow(start: start, length: whole, kept: decoded..<start + whole - reach.after) }
        guard isComplete else { return nil }
        if let last = ending(isFilled: false) { return last }
        // Longer than the rest: otherwise `whole` would be one.
        guard let length = lengths.first(where: { start + $0 > count }) else { return nil }
        let end = count - reach.after > decoded ? count - reach.after : min(max(reach.before, decoded + 1), count)
        return CodeWindow(start: start, length: length, kept: decoded..<end)
    }

    /// Returns a run that ends with the last frame, and keeps all frames that are left.
    /// - Parameter isFilled: its inputs begin with a frame of the speech.
    private func ending(isFilled: Bool) -> CodeWindow? {
        let length = lengths.first { length in
            let start = count - length
            guard (start >= 0) == isFilled else { return false }
            return start == 0 || max(start, 0) + reach.before <= decoded
        }
        return length.map { CodeWindow(start: count - $0, length: $0, kept: decoded..<count) }
    }
}
