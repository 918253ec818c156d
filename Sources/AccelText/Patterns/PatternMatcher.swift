import AccelByteIO

/// Memory of the matcher that is used again.
struct PatternScratch {
    fileprivate var stack: [PatternMatcher.Choice] = []
    fileprivate var trail: [Int] = []
    fileprivate var notes: [UInt64] = []
    fileprivate var successes: [UInt64] = []
}

/// Finds a pattern in a text, by trying alternatives in their order.
///
/// A search that goes back often begins to note states (an instruction at an offset) that have failed, and never enters them again: then
/// the time is bounded by the number of instructions times the size of the text.
struct PatternMatcher: ~Copyable {
    /// A backtracking point: the state to continue from if the current alternative fails.
    fileprivate struct Choice {
        var instruction: Int32
        /// The least offset of a run that gives back scalars; -1 for a plain choice.
        var least: Int
        var offset: Int
        /// The length of the trail when the choice was made.
        var trail: Int
    }

    private let instructions: UnsafeBufferPointer<PatternProgram.Instruction>
    private let sets: UnsafeBufferPointer<ScalarSetView>
    private let tables: UnsafeBufferPointer<Int32>
    private let text: UnsafeBufferPointer<UInt8>
    private var scratch: PatternScratch
    private var isNoting: Bool
    private var choicesTaken = 0
    /// Runs of possessive repetitions: the last one of each instruction.
    private var lastRun: (instruction: Int32, range: Range<Int>) = (-1, 0..<0)

    private init(
        _ program: borrowing PatternProgram, _ instructions: UnsafeBufferPointer<PatternProgram.Instruction>,
        _ sets: UnsafeBufferPointer<ScalarSetView>, _ tables: UnsafeBufferPointer<Int32>,
        _ text: UnsafeBufferPointer<UInt8>, _ scratch: consuming PatternScratch
    ) {
        self.instructions = instructions
        self.sets = sets
        self.tables = tables
        self.text = text
        self.scratch = scratch
        isNoting = false
        if program.needsNotes { startNoting() }
    }

    /// Calls `body` with each match, in order.
    /// - Parameter text: valid UTF-8.
    static func matches(
        of program: PatternProgram, in text: UnsafeBufferPointer<UInt8>, _ scratch: inout PatternScratch,
        _ body: (Range<Int>) -> Void
    ) {
        program.instructions.withUnsafeBufferPointer { instructions in
            program.views.withUnsafeBufferPointer { sets in
                program.tables.withUnsafeBufferPointer { tables in
                    var own = PatternScratch()
                    swap(&own, &scratch)
                    // Arrays with two owners would be allocated again by the first change.
                    var matcher = PatternMatcher(program, instructions, sets, tables, text, consume own)
                    matcher.findAll(program.first, body)
                    scratch = matcher.takeScratch()
                }
            }
        }
    }

    private consuming func takeScratch() -> PatternScratch {
        // The memory of a long text is not kept.
        if scratch.notes.count > 1 << 16 { (scratch.notes, scratch.successes) = ([], []) }
        if max(scratch.stack.capacity, scratch.trail.capacity) > 1 << 16 { (scratch.stack, scratch.trail) = ([], []) }
        return scratch
    }

    private mutating func findAll(_ first: ScalarSet?, _ body: (Range<Int>) -> Void) {
        var start = 0
        var lastEnd = -1
        while start <= text.count {
            if let first = first?.view {
                while start < text.count {
                    let (scalar, length) = UTF8Text.scalar(text, start)
                    if first.contains(scalar) { break }
                    start += length
                }
                if start == text.count { return }
            }
            let end = match(at: start)
            if end < 0 || end == start && start == lastEnd {
                guard start < text.count else { return }
                start += UTF8Text.length(text[start])
                continue
            }
            body(start..<end)
            start = end
            lastEnd = end
        }
    }

    /// Returns the end of the match at an offset; -1 if there is none.
    private mutating func match(at start: Int) -> Int {
        scratch.stack.removeAll(keepingCapacity: true)
        scratch.trail.removeAll(keepingCapacity: true)
        let end = run(0, start, isLook: false)
        if !isNoting, choicesTaken > 4096 + 32 * start { startNoting() }
        return end
    }

    private mutating func startNoting() {
        isNoting = true
        let words = (instructions.count * (text.count + 1) + 63) / 64
        scratch.notes = [UInt64](repeating: 0, count: words)
        scratch.successes = scratch.notes
    }

    private func state(_ instruction: Int32, _ offset: Int) -> Int {
        offset * instructions.count + Int(instruction)
    }

    /// Runs from an instruction to its `match`. Returns the offset there; -1 if nothing matches.
    private mutating func run(_ instruction: Int32, _ offset: Int, isLook: Bool) -> Int {
        let stackBase = scratch.stack.count
        let trailBase = scratch.trail.count
        var (current, offset) = (instruction, offset)
        while true {
            var hasFailed = false
            if isNoting {
                let state = state(current, offset)
                let (word, bit) = (state / 64, UInt64(1) << UInt64(state % 64))
                if scratch.notes[word] & bit != 0 {
                    if isLook, scratch.successes[word] & bit != 0 { return succeed(offset, stackBase, trailBase, true) }
                    hasFailed = true
                } else {
                    scratch.notes[word] |= bit
                    scratch.trail.append(state)
                }
            }
            if !hasFailed {
                let step = instructions[Int(current)]
                switch step.operation {
                case .match: return succeed(offset, stackBase, trailBase, isLook)
                case .scalar:
                    if offset < text.count {
                        let (scalar, length) = UTF8Text.scalar(text, offset)
                        if scalar == UInt32(bitPattern: step.a) {
                            offset += length
                            current += 1
                            continue
                        }
                    }
                    hasFailed = true
                case .set:
                    if offset < text.count {
                        let (scalar, length) = UTF8Text.scalar(text, offset)
                        if sets[Int(step.a)].contains(scalar) {
                            offset += length
                            current += 1
                            continue
                        }
                    }
                    hasFailed = true
                case .jump: current = step.a
                case .split:
                    scratch.stack.append(
                        Choice(instruction: step.b, least: -1, offset: offset, trail: scratch.trail.count))
                    current = step.a
                case .run:
                    if isNoting {
                        current = step.slow
                        continue
                    }
                    let (end, least) = runEnd(step, offset)
                    if end < 0 {
                        hasFailed = true
                    } else {
                        current += 1
                        if end > least {
                            scratch.stack.append(
                                Choice(instruction: current, least: least, offset: end, trail: scratch.trail.count))
                        }
                        offset = end
                    }
                case .possessiveRun:
                    if lastRun.instruction == current, lastRun.range.contains(offset), step.c < 0, step.b <= 1 {
                        offset = lastRun.range.upperBound
                        current += 1
                        continue
                    }
                    let (end, _) = runEnd(step, offset)
                    if end < 0 {
                        hasFailed = true
                    } else {
                        lastRun = (current, offset..<end)
                        offset = end
                        current += 1
                    }
                case .look:
                    let from = step.b & 2 == 0 ? offset : back(offset, Int(step.c))
                    let isFound = from >= 0 && run(step.a, from, isLook: true) >= 0
                    if isFound == (step.b & 1 == 0) { current += 1 } else { hasFailed = true }
                case .atomic:
                    let end = run(step.a, offset, isLook: false)
                    if end < 0 {
                        hasFailed = true
                    } else {
                        offset = end
                        current = step.b
                    }
                case .boundary:
                    if let boundary = PatternNode.Boundary(rawValue: step.a), holds(boundary, offset) {
                        current += 1
                    } else {
                        hasFailed = true
                    }
                case .dispatch:
                    let entry = offset == text.count ? 129 : min(Int(text[offset]), 128)
                    current = tables[Int(step.a) * 130 + entry]
                case .fail: hasFailed = true
                }
            }
            guard hasFailed else { continue }
            guard scratch.stack.count > stackBase else {
                scratch.trail.removeLast(scratch.trail.count - trailBase)
                return -1
            }
            choicesTaken += 1
            let choice = scratch.stack.removeLast()
            // All states since the choice have failed.
            scratch.trail.removeLast(scratch.trail.count - choice.trail)
            current = choice.instruction
            offset = choice.offset
            if choice.least >= 0 {
                offset = back(offset, 1)
                if offset > choice.least {
                    scratch.stack.append(
                        Choice(instruction: current, least: choice.least, offset: offset, trail: choice.trail))
                }
            }
        }
    }

    /// The states on the way to a match have not failed.
    private mutating func succeed(_ end: Int, _ stackBase: Int, _ trailBase: Int, _ isLook: Bool) -> Int {
        if isNoting {
            for state in scratch.trail[trailBase...] {
                if isLook {
                    scratch.successes[state / 64] |= 1 << UInt64(state % 64)
                } else {
                    scratch.notes[state / 64] &= ~(1 << UInt64(state % 64))
                }
            }
            scratch.trail.removeLast(scratch.trail.count - trailBase)
        }
        scratch.stack.removeLast(scratch.stack.count - stackBase)
        return end
    }

    /// Returns the end of the longest run, and the end of the shortest one that is allowed; -1 if there is none.
    @inline(__always)
    private func runEnd(_ step: PatternProgram.Instruction, _ start: Int) -> (end: Int, least: Int) {
        let (minimum, maximum) = (Int(step.b), step.c < 0 ? Int.max : Int(step.c))
        let set = sets[Int(step.a)]
        var (offset, count, least) = (start, 0, start)
        while offset < text.count, count < maximum {
            let (scalar, length) = UTF8Text.scalar(text, offset)
            guard set.contains(scalar) else { break }
            offset += length
            count += 1
            if count == minimum { least = offset }
        }
        return count >= minimum ? (offset, least) : (-1, 0)
    }

    /// Returns the offset `count` scalars before another; -1 if there is none.
    private func back(_ offset: Int, _ count: Int) -> Int {
        var offset = offset
        for _ in 0..<count {
            guard offset > 0 else { return -1 }
            offset -= 1
            while UTF8Text.continues(text[offset]) { offset -= 1 }
        }
        return offset
    }

    private func holds(_ boundary: PatternNode.Boundary, _ offset: Int) -> Bool {
        let isEnd = offset == text.count
        switch boundary {
        case .textStart: return offset == 0
        case .textEnd: return isEnd
        case .lastLineEnd: return isEnd || offset == text.count - 1 && text[offset] == 0x0A
        case .lineStart: return offset == 0 || !isEnd && text[offset - 1] == 0x0A
        case .lineEnd: return isEnd || text[offset] == 0x0A
        case .word, .noWord:
            let before = offset > 0 && isWord(back(offset, 1))
            let after = !isEnd && isWord(offset)
            return (before != after) == (boundary == .word)
        }
    }

    private func isWord(_ offset: Int) -> Bool {
        Self.wordSet.contains(UTF8Text.scalar(text, offset).value)
    }

    private static let wordSet = ScalarSet(UnicodeData.patternWordRanges)
}
