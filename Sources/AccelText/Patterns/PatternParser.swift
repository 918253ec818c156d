import AccelByteIO

/// Parses regular expressions in the syntax of Oniguruma (Ruby), as Split and Replace have them.
struct PatternParser {
    private let text: [Unicode.Scalar]
    private var position = 0
    private var ignoresCase = false
    private var ignoresSpace = false
    private var dotMatchesLines = false
    private var depth = 0
    private static let deepest = 64
    private static let mostRepeats = 1000

    /// Why a pattern cannot be used, and where.
    struct Problem: Error {
        /// The offset in the pattern, in scalars.
        let position: Int
        let reason: String
    }

    init(_ pattern: String) { text = Array(pattern.unicodeScalars) }

    mutating func parse() throws(Problem) -> PatternNode {
        let node = try alternatives()
        if position < text.count { throw problem("')' without '('") }
        return node
    }

    private func problem(_ reason: String, at position: Int? = nil) -> Problem {
        Problem(position: position ?? self.position, reason: reason)
    }

    private var next: Unicode.Scalar? { position < text.count ? text[position] : nil }

    private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
        guard next == scalar else { return false }
        position += 1
        return true
    }

    private mutating func skip(_ mark: String) -> Bool {
        let scalars = Array(mark.unicodeScalars)
        guard position + scalars.count <= text.count, Array(text[position..<position + scalars.count]) == scalars else {
            return false
        }
        position += scalars.count
        return true
    }

    private mutating func alternatives() throws(Problem) -> PatternNode {
        depth += 1
        guard depth <= Self.deepest else { throw problem("more than \(Self.deepest) levels of groups") }
        defer { depth -= 1 }
        // Options without a group, such as (?i), hold to the end of the group.
        let outer = (ignoresCase, ignoresSpace, dotMatchesLines)
        defer { (ignoresCase, ignoresSpace, dotMatchesLines) = outer }
        var branches = [try sequence()]
        while skip("|") { branches.append(try sequence()) }
        return branches.count == 1 ? branches[0] : .alternatives(branches)
    }

    private mutating func sequence() throws(Problem) -> PatternNode {
        var parts: [PatternNode] = []
        while let scalar = next, scalar != "|", scalar != ")" {
            if ignoresSpace, scalar.properties.isWhitespace {
                position += 1
                continue
            }
            guard let part = try atom() else { continue }
            parts.append(try quantified(part))
        }
        return parts.count == 1 ? parts[0] : .sequence(parts)
    }

    private mutating func quantified(_ part: PatternNode) throws(Problem) -> PatternNode {
        var part = part
        while let scalar = next {
            let start = position
            var range: (Int, Int?)
            var isInterval = false
            switch scalar {
            case "*": range = (0, nil)
            case "+": range = (1, nil)
            case "?": range = (0, 1)
            case "{":
                guard let interval = try interval() else { return part }
                (range, isInterval) = (interval, true)
            default: return part
            }
            if !isInterval { position = start + 1 }
            if case .look = part { throw problem("a repeated lookaround is not supported", at: start) }
            var eagerness = PatternNode.Eagerness.greedy
            if skip("?") {
                // After a fixed number, "?" makes the whole optional.
                if isInterval, range.0 == range.1 {
                    part = .repeated(part, minimum: range.0, maximum: range.1, .greedy)
                    range = (0, 1)
                } else {
                    eagerness = .lazy
                }
            } else if !isInterval, skip("+") {
                eagerness = .possessive
            }
            part = .repeated(part, minimum: range.0, maximum: range.1, eagerness)
        }
        return part
    }

    /// Reads `{2}`, `{2,}`, `{,3}` or `{2,3}`; nil for a brace that is a character, which is not consumed.
    private mutating func interval() throws(Problem) -> (Int, Int?)? {
        let start = position
        position += 1
        let low = number()
        var high = low
        let hasComma = skip(",")
        if hasComma { high = number() }
        guard skip("}"), low != nil || high != nil else {
            position = start
            return nil
        }
        guard (low ?? 0) <= Self.mostRepeats, (high ?? 0) <= Self.mostRepeats else {
            throw problem("more than \(Self.mostRepeats) repetitions", at: start)
        }
        if let low, let high, high < low { throw problem("repetitions from \(low) to \(high)", at: start) }
        return (low ?? 0, high)
    }

    private mutating func number() -> Int? {
        var value: Int?
        while let digit = next.flatMap({ $0.isASCII ? Character($0).wholeNumberValue : nil }) {
            value = min((value ?? 0) * 10 + digit, 1_000_000)
            position += 1
        }
        return value
    }

    /// Reads one part without its quantifier; nil for options and comments.
    private mutating func atom() throws(Problem) -> PatternNode? {
        let start = position
        guard let scalar = next else { return nil }
        position += 1
        switch scalar {
        case "(": return try group(start)
        case "[": return .set(try setAfterBracket())
        case ".":
            let newline = ScalarRanges(0x0A...0x0A)
            return .set(dotMatchesLines ? ScalarRanges().inverted() : newline.inverted())
        case "^": return .boundary(.lineStart)
        case "$": return .boundary(.lineEnd)
        case "*", "+", "?": throw problem("'\(scalar)' has nothing to repeat", at: start)
        case "#" where ignoresSpace:
            while let scalar = next, scalar != "\n" {
                _ = scalar
                position += 1
            }
            return nil
        case "\\": return try escape(start)
        default: return .set(literal(scalar.value))
        }
    }

    private func literal(_ scalar: UInt32) -> ScalarRanges {
        let one = ScalarRanges(scalar...scalar)
        return ignoresCase ? withOtherCases(one) : one
    }

    /// Adds the scalars that differ in case only.
    private func withOtherCases(_ set: ScalarRanges) -> ScalarRanges {
        var added: [Range<UInt32>] = []
        for (scalar, others) in UnicodeData.caseClasses where set.contains(scalar) {
            added += others.map { $0..<$0 + 1 }
        }
        return set.union(ScalarRanges(added))
    }

    private mutating func group(_ start: Int) throws(Problem) -> PatternNode? {
        guard skip("?") else { return try closed(start) { $0 } }
        if skip(":") { return try closed(start) { $0 } }
        if skip("=") { return try closed(start) { .look($0, ahead: true, negative: false) } }
        if skip("!") { return try closed(start) { .look($0, ahead: true, negative: true) } }
        if skip(">") { return try closed(start) { .atomic($0) } }
        if skip("<=") { return try closed(start) { .look($0, ahead: false, negative: false) } }
        if skip("<!") { return try closed(start) { .look($0, ahead: false, negative: true) } }
        if skip("<") || skip("P<") {
            while let scalar = next, scalar != ">" {
                _ = scalar
                position += 1
            }
            guard skip(">") else { throw problem("a group's name has no '>'", at: start) }
            return try closed(start) { $0 }
        }
        if skip("#") {
            while let scalar = next, scalar != ")" {
                _ = scalar
                position += 1
            }
            guard skip(")") else { throw problem("a comment has no ')'", at: start) }
            return nil
        }
        return try options(start)
    }

    private mutating func options(_ start: Int) throws(Problem) -> PatternNode? {
        let outer = (ignoresCase, ignoresSpace, dotMatchesLines)
        var value = true
        while let scalar = next {
            position += 1
            switch scalar {
            case "-": value = false
            case "i": ignoresCase = value
            case "x": ignoresSpace = value
            case "m": dotMatchesLines = value
            case ")":
                // The rest of the enclosing group, which restores the options at its end.
                return try alternativesAfterOptions()
            case ":":
                let node = try closed(start) { $0 }
                (ignoresCase, ignoresSpace, dotMatchesLines) = outer
                return node
            default: throw problem("the group (?\(scalar) is not supported", at: start)
            }
        }
        throw problem("a group has no ')'", at: start)
    }

    private mutating func alternativesAfterOptions() throws(Problem) -> PatternNode {
        var branches = [try sequence()]
        while skip("|") { branches.append(try sequence()) }
        return branches.count == 1 ? branches[0] : .alternatives(branches)
    }

    private mutating func closed(
        _ start: Int, _ body: (PatternNode) -> PatternNode
    ) throws(Problem) -> PatternNode {
        let node = try alternatives()
        guard skip(")") else { throw problem("a group has no ')'", at: start) }
        return body(node)
    }

    private mutating func escape(_ start: Int) throws(Problem) -> PatternNode {
        guard let scalar = next else { throw problem("the pattern ends with a backslash", at: start) }
        switch scalar {
        case "A": position += 1; return .boundary(.textStart)
        case "z": position += 1; return .boundary(.textEnd)
        case "Z": position += 1; return .boundary(.lastLineEnd)
        case "b": position += 1; return .boundary(.word)
        case "B": position += 1; return .boundary(.noWord)
        case "1"..."9", "k", "g", "G", "K", "R", "X", "y", "Y", "N", "O", "M", "c", "C":
            throw problem("the escape \\\(scalar) is not supported", at: start)
        default: break
        }
        let set = try escapedSet(start)
        return .set(set.isClass || !ignoresCase ? set.ranges : withOtherCases(set.ranges))
    }

    /// Reads the rest of an escape that stands for one scalar or a class.
    private mutating func escapedSet(_ start: Int) throws(Problem) -> (ranges: ScalarRanges, isClass: Bool) {
        guard let scalar = next else { throw problem("the pattern ends with a backslash", at: start) }
        position += 1
        func one(_ value: UInt32) -> (ScalarRanges, Bool) { (ScalarRanges(value...value), false) }
        switch scalar {
        case "s": return (UnicodeData.whiteSpaceRanges, true)
        case "S": return (UnicodeData.whiteSpaceRanges.inverted(), true)
        case "d": return (UnicodeData.category("Nd")!, true)
        case "D": return (UnicodeData.category("Nd")!.inverted(), true)
        case "w": return (UnicodeData.patternWordRanges, true)
        case "W": return (UnicodeData.patternWordRanges.inverted(), true)
        case "h": return (PatternProperties.hexadecimal, true)
        case "H": return (PatternProperties.hexadecimal.inverted(), true)
        case "p": return (try property(start, negative: false), true)
        case "P": return (try property(start, negative: true), true)
        case "n": return one(0x0A)
        case "r": return one(0x0D)
        case "t": return one(0x09)
        case "f": return one(0x0C)
        case "v": return one(0x0B)
        case "a": return one(0x07)
        case "e": return one(0x1B)
        case "b": return one(0x08)
        case "0": return one(try digits(radix: 8, atMost: 2, atLeast: 0, start))
        case "x":
            if skip("{") {
                let value = try digits(radix: 16, atMost: 8, atLeast: 1, start)
                guard skip("}") else { throw problem("\\x{ has no '}'", at: start) }
                return one(value)
            }
            return one(try digits(radix: 16, atMost: 2, atLeast: 1, start))
        case "u": return one(try digits(radix: 16, atMost: 4, atLeast: 4, start))
        default:
            if scalar.isASCII, scalar.properties.isAlphabetic {
                throw problem("the escape \\\(scalar) is not supported", at: start)
            }
            return one(scalar.value)
        }
    }

    private mutating func digits(
        radix: UInt32, atMost most: Int, atLeast least: Int, _ start: Int
    ) throws(Problem) -> UInt32 {
        var value: UInt32 = 0
        var count = 0
        while count < most, let digit = next.flatMap({ Character($0).hexDigitValue }), digit < radix, next!.isASCII {
            value = value << 4 | UInt32(digit)
            if radix == 8 { value = (value >> 4) << 3 | UInt32(digit) }
            guard value < ScalarRanges.limit else { throw problem("no Unicode scalar", at: start) }
            count += 1
            position += 1
        }
        guard count >= least else { throw problem("expected a hexadecimal digit") }
        return value
    }

    private mutating func property(_ start: Int, negative: Bool) throws(Problem) -> ScalarRanges {
        guard skip("{") else { throw problem("\\p needs a name in braces", at: start) }
        var isNegative = negative
        if skip("^") { isNegative.toggle() }
        var name = ""
        while let scalar = next, scalar != "}" {
            name.unicodeScalars.append(scalar)
            position += 1
        }
        guard skip("}") else { throw problem("\\p{ has no '}'", at: start) }
        guard let set = PatternProperties.named(name) else {
            throw problem("the property \\p{\(name.prefix(40))} is not supported", at: start)
        }
        return isNegative ? set.inverted() : set
    }

    /// Reads the rest of a class after its bracket: members, ranges, nested classes, and `&&`.
    private mutating func setAfterBracket() throws(Problem) -> ScalarRanges {
        let start = position - 1
        depth += 1
        guard depth <= Self.deepest else { throw problem("more than \(Self.deepest) levels of classes") }
        defer { depth -= 1 }
        let isNegative = skip("^")
        var result: ScalarRanges?
        var members: [Range<UInt32>] = []
        var isFirst = true
        func taken() -> ScalarRanges {
            let set = ScalarRanges(members)
            return ignoresCase ? withOtherCases(set) : set
        }
        while true {
            guard let scalar = next else { throw problem("a class has no ']'", at: start) }
            if scalar == "]", !isFirst {
                position += 1
                break
            }
            isFirst = false
            if skip("&&") {
                result = result.map { $0.intersection(taken()) } ?? taken()
                members = []
                continue
            }
            if scalar == "[" {
                if let set = try posixClass() {
                    members += set.ranges
                } else {
                    position += 1
                    members += try setAfterBracket().ranges
                }
                continue
            }
            let low = try member()
            guard let lower = low.scalar else {
                members += low.ranges.ranges
                continue
            }
            guard next == "-", position + 1 < text.count, text[position + 1] != "]" else {
                members.append(lower..<lower + 1)
                continue
            }
            let dash = position
            position += 1
            if next == "[" {
                // A dash before a nested class is a character.
                members += [lower..<lower + 1, 0x2D..<0x2E]
                continue
            }
            let high = try member()
            guard let upper = high.scalar else {
                members += [lower..<lower + 1, 0x2D..<0x2E] + high.ranges.ranges
                continue
            }
            guard lower <= upper else { throw problem("a range in a class is empty", at: dash) }
            members.append(lower..<upper + 1)
        }
        let set = result.map { $0.intersection(taken()) } ?? taken()
        return isNegative ? set.inverted() : set
    }

    private mutating func member() throws(Problem) -> (ranges: ScalarRanges, scalar: UInt32?) {
        let start = position
        guard let scalar = next else { throw problem("a class has no ']'", at: start) }
        position += 1
        if scalar == "\\" {
            let set = try escapedSet(start)
            return (set.ranges, set.isClass ? nil : set.ranges.bounds[0])
        }
        return (ScalarRanges(scalar.value...scalar.value), scalar.value)
    }

    /// Reads `[:alpha:]` or `[:^alpha:]`; nil for another bracket, which is not consumed.
    private mutating func posixClass() throws(Problem) -> ScalarRanges? {
        let start = position
        guard skip("[:") else { return nil }
        let isNegative = skip("^")
        var name = ""
        while let scalar = next, scalar.isASCII, scalar.properties.isAlphabetic {
            name.unicodeScalars.append(scalar)
            position += 1
        }
        guard skip(":]") else {
            position = start
            return nil
        }
        guard let set = PatternProperties.named(name) else {
            throw problem("the class [:\(name):] is not supported", at: start)
        }
        return isNegative ? set.inverted() : set
    }
}
