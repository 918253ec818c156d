/// Parses regular expressions in the syntax of Oniguruma (Ruby), as Split and Replace have them.
struct PatternParser {
    private var reader: PatternReader
    private var sets = PatternSetParser()
    private var ignoresSpace = false
    private var dotMatchesLines = false
    private static let mostRepeats = 1000

    init(_ pattern: String) { reader = PatternReader(pattern) }

    mutating func parse() throws(PatternProblem) -> PatternNode {
        let node = try alternatives()
        if reader.next != nil { throw reader.problem("')' without '('") }
        return node
    }

    private mutating func alternatives() throws(PatternProblem) -> PatternNode {
        try reader.enter("groups")
        defer { reader.leave() }
        // Options without a group, such as (?i), hold to the end of the group.
        let outer = (sets.ignoresCase, ignoresSpace, dotMatchesLines)
        defer { (sets.ignoresCase, ignoresSpace, dotMatchesLines) = outer }
        return try branches()
    }

    private mutating func branches() throws(PatternProblem) -> PatternNode {
        var branches = [try sequence()]
        while reader.skip("|") { branches.append(try sequence()) }
        return branches.count == 1 ? branches[0] : .alternatives(branches)
    }

    private mutating func sequence() throws(PatternProblem) -> PatternNode {
        var parts: [PatternNode] = []
        while let scalar = reader.next, scalar != "|", scalar != ")" {
            if ignoresSpace, scalar.properties.isWhitespace {
                _ = reader.take()
                continue
            }
            guard let part = try atom() else { continue }
            parts.append(try quantified(part))
        }
        return parts.count == 1 ? parts[0] : .sequence(parts)
    }

    private mutating func quantified(_ part: PatternNode) throws(PatternProblem) -> PatternNode {
        var part = part
        while let scalar = reader.next {
            let start = reader.position
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
            if !isInterval { _ = reader.take() }
            if case .look = part { throw reader.problem("a repeated lookaround is not supported", at: start) }
            var eagerness = PatternNode.Eagerness.greedy
            if reader.skip("?") {
                // After a fixed number, "?" makes the whole optional.
                if isInterval, range.0 == range.1 {
                    part = .repeated(part, minimum: range.0, maximum: range.1, .greedy)
                    range = (0, 1)
                } else {
                    eagerness = .lazy
                }
            } else if !isInterval, reader.skip("+") {
                eagerness = .possessive
            }
            part = .repeated(part, minimum: range.0, maximum: range.1, eagerness)
        }
        return part
    }

    /// Reads `{2}`, `{2,}`, `{,3}` or `{2,3}`; nil for a brace that is a character, which is not consumed.
    private mutating func interval() throws(PatternProblem) -> (Int, Int?)? {
        let start = reader.position
        _ = reader.take()
        let low = reader.number()
        var high = low
        let hasComma = reader.skip(",")
        if hasComma { high = reader.number() }
        guard reader.skip("}"), low != nil || high != nil else {
            reader.rewind(to: start)
            return nil
        }
        guard (low ?? 0) <= Self.mostRepeats, (high ?? 0) <= Self.mostRepeats else {
            throw reader.problem("more than \(Self.mostRepeats) repetitions", at: start)
        }
        if let low, let high, high < low { throw reader.problem("repetitions from \(low) to \(high)", at: start) }
        return (low ?? 0, high)
    }

    /// Reads one part without its quantifier; nil for options and comments.
    private mutating func atom() throws(PatternProblem) -> PatternNode? {
        let start = reader.position
        guard let scalar = reader.take() else { return nil }
        switch scalar {
        case "(": return try group(start)
        case "[": return .set(try sets.set(&reader))
        case ".":
            let newline = ScalarRanges(0x0A...0x0A)
            return .set(dotMatchesLines ? ScalarRanges().inverted() : newline.inverted())
        case "^": return .boundary(.lineStart)
        case "$": return .boundary(.lineEnd)
        case "*", "+", "?": throw reader.problem("'\(scalar)' has nothing to repeat", at: start)
        case "#" where ignoresSpace:
            _ = reader.take(until: { $0 == "\n" })
            return nil
        case "\\": return try escape(start)
        default: return .set(sets.literal(scalar.value))
        }
    }

    private mutating func group(_ start: Int) throws(PatternProblem) -> PatternNode? {
        guard reader.skip("?") else { return try closed(start) { $0 } }
        if reader.skip(":") { return try closed(start) { $0 } }
        if reader.skip("=") { return try closed(start) { .look($0, ahead: true, negative: false) } }
        if reader.skip("!") { return try closed(start) { .look($0, ahead: true, negative: true) } }
        if reader.skip(">") { return try closed(start) { .atomic($0) } }
        if reader.skip("<=") { return try closed(start) { .look($0, ahead: false, negative: false) } }
        if reader.skip("<!") { return try closed(start) { .look($0, ahead: false, negative: true) } }
        if reader.skip("<") || reader.skip("P<") {
            _ = reader.take(until: { $0 == ">" })
            guard reader.skip(">") else { throw reader.problem("a group's name has no '>'", at: start) }
            return try closed(start) { $0 }
        }
        if reader.skip("#") {
            _ = reader.take(until: { $0 == ")" })
            guard reader.skip(")") else { throw reader.problem("a comment has no ')'", at: start) }
            return nil
        }
        return try options(start)
    }

    private mutating func options(_ start: Int) throws(PatternProblem) -> PatternNode? {
        let outer = (sets.ignoresCase, ignoresSpace, dotMatchesLines)
        var value = true
        while let scalar = reader.take() {
            switch scalar {
            case "-": value = false
            case "i": sets.ignoresCase = value
            case "x": ignoresSpace = value
            case "m": dotMatchesLines = value
            case ")":
                // The rest of the enclosing group, which restores the options at its end.
                return try branches()
            case ":":
                let node = try closed(start) { $0 }
                (sets.ignoresCase, ignoresSpace, dotMatchesLines) = outer
                return node
            default: throw reader.problem("the group (?\(scalar) is not supported", at: start)
            }
        }
        throw reader.problem("a group has no ')'", at: start)
    }

    private mutating func closed(
        _ start: Int, _ body: (PatternNode) -> PatternNode
    ) throws(PatternProblem) -> PatternNode {
        let node = try alternatives()
        guard reader.skip(")") else { throw reader.problem("a group has no ')'", at: start) }
        return body(node)
    }

    private mutating func escape(_ start: Int) throws(PatternProblem) -> PatternNode {
        guard let scalar = reader.next else { throw reader.problem("the pattern ends with a backslash", at: start) }
        let boundaries: [Unicode.Scalar: PatternNode.Boundary] = [
            "A": .textStart, "z": .textEnd, "Z": .lastLineEnd, "b": .word, "B": .noWord,
        ]
        if let boundary = boundaries[scalar] {
            _ = reader.take()
            return .boundary(boundary)
        }
        switch scalar {
        case "1"..."9", "k", "g", "G", "K", "R", "X", "y", "Y", "N", "O", "M", "c", "C":
            throw reader.problem("the escape \\\(scalar) is not supported", at: start)
        default: break
        }
        let set = try sets.escape(&reader, start)
        return .set(set.isClass || !sets.ignoresCase ? set.ranges : sets.withOtherCases(set.ranges))
    }
}
