/// The numbers of `range(start, stop, step)`.
final class ValueRange {
    let start: Int
    let stop: Int
    let step: Int
    /// How many they are.
    let count: Int

    /// - Throws: `TemplateFailure` for a step of 0, and for numbers that are too far apart.
    init(start: Int, stop: Int, step: Int) throws {
        guard step != 0 else { throw TemplateFailure.value("range() arg 3 must not be zero") }
        (self.start, self.stop, self.step) = (start, stop, step)
        guard step > 0 ? start < stop : start > stop else {
            count = 0
            return
        }
        let distance = stop > start ? UInt(bitPattern: stop &- start) : UInt(bitPattern: start &- stop)
        let whole = (distance - 1) / step.magnitude + 1
        guard let count = Int(exactly: whole) else { throw TemplateFailure.overflow("Python int too large") }
        self.count = count
    }

    /// The number at an index in `0..<count`.
    subscript(index: Int) -> Value { .integer(start &+ index &* step) }

    /// The ranges have the same numbers.
    func equals(_ other: ValueRange) -> Bool {
        guard count == other.count else { return false }
        return count == 0 || (start == other.start && (count == 1 || step == other.step))
    }

    /// The range has a number.
    func contains(_ number: Int) -> Bool {
        guard count > 0, step > 0 ? (start..<stop).contains(number) : (number <= start && number > stop) else {
            return false
        }
        return number.subtractingReportingOverflow(start).partialValue % step == 0
    }
}
