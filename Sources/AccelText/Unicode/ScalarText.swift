/// A text as scalars, each with the range of bytes of the original text that it comes from.
struct ScalarText {
    var scalars: [UInt32] = []
    /// The first byte of each scalar's origin; empty if origins are not tracked.
    var starts: [Int32] = []
    /// The end of each scalar's origin; empty if origins are not tracked.
    var ends: [Int32] = []
    var tracksOrigins = false
    /// The origin of scalars that are inserted before the first one.
    var base: Int32 = 0

    private var oldScalars: [UInt32] = []
    private var oldStarts: [Int32] = []
    private var oldEnds: [Int32] = []

    /// Takes valid UTF-8, whose first byte is the byte `base` of the original text.
    mutating func assign(_ bytes: UnsafeBufferPointer<UInt8>, base: Int, tracksOrigins: Bool) {
        scalars.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        self.tracksOrigins = tracksOrigins
        self.base = Int32(truncatingIfNeeded: base)
        scalars.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            let (scalar, length) = UTF8Text.scalar(bytes, index)
            scalars.append(scalar)
            if tracksOrigins {
                starts.append(Int32(truncatingIfNeeded: base + index))
                ends.append(Int32(truncatingIfNeeded: base + index + length))
            }
            index += length
        }
    }

    /// Starts to rewrite: the text becomes empty, and `old` gives what it was.
    private mutating func beginRewriting() {
        swap(&scalars, &oldScalars)
        swap(&starts, &oldStarts)
        swap(&ends, &oldEnds)
        scalars.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }

    @inline(__always)
    private mutating func append(_ scalar: UInt32, from old: Int) {
        scalars.append(scalar)
        if tracksOrigins {
            starts.append(oldStarts[old])
            ends.append(oldEnds[old])
        }
    }

    /// Replaces each scalar by those that `body` appends; they all keep its origin.
    mutating func mapEach(_ body: (_ scalar: UInt32, _ append: (UInt32) -> Void) -> Void) {
        beginRewriting()
        for index in oldScalars.indices {
            body(oldScalars[index]) { append($0, from: index) }
        }
    }

    /// Replaces scalars one by one.
    mutating func replaceEach(_ body: (UInt32) -> UInt32) {
        for index in scalars.indices { scalars[index] = body(scalars[index]) }
    }

    /// Removes the scalars that do not satisfy a condition.
    mutating func filter(_ isKept: (UInt32) -> Bool) {
        var count = 0
        for index in scalars.indices where isKept(scalars[index]) {
            scalars[count] = scalars[index]
            if tracksOrigins {
                starts[count] = starts[index]
                ends[count] = ends[index]
            }
            count += 1
        }
        truncate(to: count)
    }

    private mutating func truncate(to count: Int) {
        scalars.removeLast(scalars.count - count)
        guard tracksOrigins else { return }
        starts.removeLast(starts.count - count)
        ends.removeLast(ends.count - count)
    }

    mutating func removeFirst(_ count: Int) {
        scalars.removeFirst(count)
        guard tracksOrigins else { return }
        starts.removeFirst(count)
        ends.removeFirst(count)
    }

    mutating func removeLast(_ count: Int) { truncate(to: scalars.count - count) }

    /// Inserts scalars before the first one, with its origin.
    mutating func prepend(_ new: [UInt32]) {
        guard !scalars.isEmpty else { return }
        scalars.insert(contentsOf: new, at: 0)
        guard tracksOrigins else { return }
        starts.insert(contentsOf: repeatElement(starts[0], count: new.count), at: 0)
        ends.insert(contentsOf: repeatElement(ends[0], count: new.count), at: 0)
    }

    /// Replaces the whole text by scalars that have the origins of old ones.
    mutating func rebuild(_ new: [(scalar: UInt32, old: Int)]) {
        beginRewriting()
        for item in new { append(item.scalar, from: item.old) }
    }

    /// Replaces the whole text. `changes` says for each new scalar how many old ones it consumes: 0 one, -n one and the n after it, 1 none.
    /// Those that consume none take the origin of the old scalar before, as `tokenizers` aligns them.
    mutating func transform(_ new: [UInt32], _ changes: [Int]) {
        guard tracksOrigins else {
            scalars.replaceSubrange(scalars.indices, with: new)
            return
        }
        beginRewriting()
        var old = 0
        for (scalar, change) in zip(new, changes) {
            if change > 0 {
                if old == 0 || oldStarts.isEmpty {
                    scalars.append(scalar)
                    starts.append(base)
                    ends.append(base)
                } else {
                    append(scalar, from: min(old, oldStarts.count) - 1)
                }
            } else {
                append(scalar, from: min(old, oldStarts.count - 1))
                old += 1 - change
            }
        }
    }

    /// Replaces the matches of a pattern by scalars with the origin of the match's last scalar.
    mutating func replace(_ pattern: Pattern, _ content: [UInt32], _ scratch: inout PatternScratch) {
        var bytes: [UInt8] = []
        // The number of scalars before each byte.
        var numbers: [Int32] = []
        for (index, scalar) in scalars.enumerated() {
            UTF8Text.append(scalar, to: &bytes)
            while numbers.count < bytes.count { numbers.append(Int32(truncatingIfNeeded: index)) }
        }
        numbers.append(Int32(truncatingIfNeeded: scalars.count))
        var matches: [Range<Int>] = []
        bytes.withUnsafeBufferPointer { bytes in
            pattern.matches(in: bytes, &scratch) { match in
                matches.append(Int(numbers[match.lowerBound])..<Int(numbers[match.upperBound]))
            }
        }
        guard !matches.isEmpty else { return }
        beginRewriting()
        var last = 0
        for match in matches {
            for index in last..<match.lowerBound { append(oldScalars[index], from: index) }
            for scalar in content {
                if match.upperBound > 0 {
                    append(scalar, from: match.upperBound - 1)
                } else {
                    scalars.append(scalar)
                    if tracksOrigins {
                        starts.append(base)
                        ends.append(base)
                    }
                }
            }
            last = match.upperBound
        }
        for index in last..<oldScalars.count { append(oldScalars[index], from: index) }
    }
}
