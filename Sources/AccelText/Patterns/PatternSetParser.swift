/// Parses the sets of scalars in a pattern: classes in brackets, and escapes that stand for one scalar or a class.
struct PatternSetParser {
    /// Sets have the scalars that differ in case only, too.
    var ignoresCase = false

    /// Returns the set of one scalar.
    func literal(_ scalar: UInt32) -> ScalarRanges {
        let one = ScalarRanges(scalar...scalar)
        return ignoresCase ? withOtherCases(one) : one
    }

    /// Adds the scalars that differ in case only.
    func withOtherCases(_ set: ScalarRanges) -> ScalarRanges {
        var added: [Range<UInt32>] = []
        for (scalar, others) in UnicodeData.caseClasses where set.contains(scalar) {
            added += others.map { $0..<$0 + 1 }
        }
        return set.union(ScalarRanges(added))
    }

    // MARK: - Escapes

    /// Reads the rest of an escape that stands for one scalar or a class.
    func escape(_ reader: inout PatternReader, _ start: Int) throws(PatternProblem) -> (
        ranges: ScalarRanges, isClass: Bool
    ) {
        guard let scalar = reader.take() else { throw reader.problem("the pattern ends with a backslash", at: start) }
        func one(_ value: UInt32) -> (ScalarRanges, Bool) { (ScalarRanges(value...value), false) }
        switch scalar {
        case "s": return (UnicodeData.whiteSpaceRanges, true)
        case "S": return (UnicodeData.whiteSpaceRanges.inverted(), true)
        case "d": return (PatternProperties.digits, true)
        case "D": return (PatternProperties.digits.inverted(), true)
        case "w": return (UnicodeData.patternWordRanges, true)
        case "W": return (UnicodeData.patternWordRanges.inverted(), true)
        case "h": return (PatternProperties.hexadecimal, true)
        case "H": return (PatternProperties.hexadecimal.inverted(), true)
        case "p": return (try property(&reader, start, negative: false), true)
        case "P": return (try property(&reader, start, negative: true), true)
        case "n": return one(0x0A)
        case "r": return one(0x0D)
        case "t": return one(0x09)
        case "f": return one(0x0C)
        case "v": return one(0x0B)
        case "a": return one(0x07)
        case "e": return one(0x1B)
        case "b": return one(0x08)
        case "0": return one(try reader.scalarNumber(radix: 8, atMost: 2, atLeast: 0, start))
        case "x":
            if reader.skip("{") {
                let value = try reader.scalarNumber(radix: 16, atMost: 8, atLeast: 1, start)
                guard reader.skip("}") else { throw reader.problem("\\x{ has no '}'", at: start) }
                return one(value)
            }
            return one(try reader.scalarNumber(radix: 16, atMost: 2, atLeast: 1, start))
        case "u": return one(try reader.scalarNumber(radix: 16, atMost: 4, atLeast: 4, start))
        default:
            if scalar.isASCII, scalar.properties.isAlphabetic {
                throw reader.problem("the escape \\\(scalar) is not supported", at: start)
            }
            return one(scalar.value)
        }
    }

    private func property(_ reader: inout PatternReader, _ start: Int, negative: Bool) throws(PatternProblem)
        -> ScalarRanges
    {
        guard reader.skip("{") else { throw reader.problem("\\p needs a name in braces", at: start) }
        var isNegative = negative
        if reader.skip("^") { isNegative.toggle() }
        let name = reader.take(until: { $0 == "}" })
        guard reader.skip("}") else { throw reader.problem("\\p{ has no '}'", at: start) }
        guard let set = PatternProperties.named(name) else {
            throw reader.problem("the property \\p{\(name.prefix(40))} is not supported", at: start)
        }
        return isNegative ? set.inverted() : set
    }

    // MARK: - Classes

    /// Reads the rest of a class after its bracket: members, ranges, nested classes, and `&&`.
    func set(_ reader: inout PatternReader) throws(PatternProblem) -> ScalarRanges {
        let start = reader.position - 1
        try reader.enter("classes")
        defer { reader.leave() }
        let isNegative = reader.skip("^")
        var result: ScalarRanges?
        var members: [Range<UInt32>] = []
        var isFirst = true
        func taken() -> ScalarRanges {
            let set = ScalarRanges(members)
            return ignoresCase ? withOtherCases(set) : set
        }
        while true {
            guard let scalar = reader.next else { throw reader.problem("a class has no ']'", at: start) }
            if !isFirst, reader.skip("]") { break }
            isFirst = false
            if reader.skip("&&") {
                result = result.map { $0.intersection(taken()) } ?? taken()
                members = []
                continue
            }
            if scalar == "[" {
                if let set = try posixClass(&reader) {
                    members += set.ranges
                } else {
                    _ = reader.take()
                    members += try set(&reader).ranges
                }
                continue
            }
            let low = try member(&reader)
            guard let lower = low.scalar else {
                members += low.ranges.ranges
                continue
            }
            guard reader.next == "-", let following = reader.scalar(after: 1), following != "]" else {
                members.append(lower..<lower + 1)
                continue
            }
            let dash = reader.position
            _ = reader.take()
            if following == "[" {
                // A dash before a nested class is a character.
                members += [lower..<lower + 1, 0x2D..<0x2E]
                continue
            }
            let high = try member(&reader)
            guard let upper = high.scalar else {
                members += [lower..<lower + 1, 0x2D..<0x2E] + high.ranges.ranges
                continue
            }
            guard lower <= upper else { throw reader.problem("a range in a class is empty", at: dash) }
            members.append(lower..<upper + 1)
        }
        let set = result.map { $0.intersection(taken()) } ?? taken()
        return isNegative ? set.inverted() : set
    }

    private func member(_ reader: inout PatternReader) throws(PatternProblem) -> (ranges: ScalarRanges, scalar: UInt32?)
    {
        let start = reader.position
        guard let scalar = reader.take() else { throw reader.problem("a class has no ']'", at: start) }
        if scalar == "\\" {
            let set = try escape(&reader, start)
            return (set.ranges, set.isClass ? nil : set.ranges.bounds[0])
        }
        return (ScalarRanges(scalar.value...scalar.value), scalar.value)
    }

    /// Reads `[:alpha:]` or `[:^alpha:]`; nil for another bracket, which is not consumed.
    private func posixClass(_ reader: inout PatternReader) throws(PatternProblem) -> ScalarRanges? {
        let start = reader.position
        guard reader.skip("[:") else { return nil }
        let isNegative = reader.skip("^")
        let name = reader.take(until: { !$0.isASCII || !$0.properties.isAlphabetic })
        guard reader.skip(":]") else {
            reader.rewind(to: start)
            return nil
        }
        guard let set = PatternProperties.named(name) else {
            throw reader.problem("the class [:\(name):] is not supported", at: start)
        }
        return isNegative ? set.inverted() : set
    }
}
