/// Splits a template into tokens: text with Jinja2's `trim_blocks` and `lstrip_blocks`, and the tokens of tags.
struct Lexer {
    let source: Text
    private(set) var position = 0
    private(set) var line = 1
    private(set) var tokens: [Token] = []
    /// The last match ended a line.
    private var isLineStart = true
    /// The closing marks that open brackets wait for.
    private var brackets: [Unicode.Scalar] = []

    /// Returns the tokens of a template. The last one is `end` or `failure`.
    static func tokens(of source: String) -> [Token] {
        var lexer = Lexer(source: normalized(Text(source)))
        do {
            try lexer.run()
            lexer.add(.end)
        } catch {
            lexer.add(.failure(error.reason))
        }
        return lexer.tokens
    }

    private init(source: Text) { self.source = source }

    /// The text with `\n` for all line ends, without a final one.
    private static func normalized(_ source: Text) -> Text {
        var text = withLineFeeds(source)
        if text.last == "\n" { text.removeLast() }
        return text
    }

    /// The text with `\n` for all line ends.
    static func withLineFeeds(_ source: Text) -> Text {
        source.contains("\r") ? source.replacing(["\r", "\n"], with: ["\n"]).map { $0 == "\r" ? "\n" : $0 } : source
    }

    private mutating func add(_ kind: Token.Kind) { tokens.append(Token(kind: kind, line: line)) }

    /// Goes on to a position, and counts the lines up to it.
    private mutating func advance(to end: Int) {
        line += source[position..<end].reduce(0) { $0 + ($1 == "\n" ? 1 : 0) }
        if end > position { isLineStart = source[end - 1] == "\n" }
        position = end
    }

    /// A failure at the current line.
    struct Failure: Error { let reason: String }

    private mutating func run() throws(Failure) {
        while position < source.count {
            guard let open = (position..<source.count).first(where: { isOpening($0) }) else {
                addData(upTo: source.count)
                advance(to: source.count)
                return
            }
            try readTag(open)
        }
    }

    private func isOpening(_ index: Int) -> Bool {
        source[index] == "{" && index + 1 < source.count && ["%", "{", "#"].contains(source[index + 1])
    }

    private func sign(_ index: Int) -> Unicode.Scalar? {
        index < source.count && (source[index] == "-" || source[index] == "+") ? source[index] : nil
    }

    /// Reads the text before a tag, and the tag.
    private mutating func readTag(_ open: Int) throws(Failure) {
        let mark = source[open + 1]
        let sign = sign(open + 2)
        let inner = open + 2 + (sign == nil ? 0 : 1)
        addText(upTo: open, sign: sign, mark: mark)
        switch mark {
        case "#":
            try skipComment(inner)
        case "%":
            if let body = rawBody(inner) { return try readRaw(body) }
            add(.blockBegin)
            advance(to: inner)
            try readTokens(closing: "%")
        default:
            add(.variableBegin)
            advance(to: inner)
            try readTokens(closing: "}")
        }
    }

    /// Adds the text before a tag, stripped as the tag asks for.
    private mutating func addText(upTo end: Int, sign: Unicode.Scalar?, mark: Unicode.Scalar) {
        var last = end
        if sign == "-" {
            while last > position, source[last - 1].isPythonSpace { last -= 1 }
        } else if sign == nil, mark != "{" {
            let lineEnd = source[position..<end].lastIndex(of: "\n")
            let start = lineEnd.map { $0 + 1 } ?? position
            if lineEnd != nil || isLineStart, source[start..<end].allSatisfy(\.isPythonSpace) { last = start }
        }
        addData(upTo: last)
        advance(to: end)
    }

    private mutating func addData(upTo end: Int) {
        if end > position { add(.data(Array(source[position..<end]))) }
    }

    private mutating func skipComment(_ start: Int) throws(Failure) {
        guard let end = source.firstIndex(of: ["#", "}"], from: start) else {
            // Nothing after the mark is no comment, and no error.
            if start < source.count { throw Failure(reason: "Missing end of comment tag") }
            return advance(to: source.count)
        }
        let sign = end > start ? sign(end - 1) : nil
        advance(to: afterClosing(end + 2, sign: sign, trimsLine: true))
    }

    /// Returns the end of the white space that a closing mark takes with it.
    private func afterClosing(_ end: Int, sign: Unicode.Scalar?, trimsLine: Bool) -> Int {
        var end = end
        if sign == "-" {
            while end < source.count, source[end].isPythonSpace { end += 1 }
        } else if sign == nil, trimsLine, end < source.count, source[end] == "\n" {
            end += 1
        }
        return end
    }

    private func afterSpace(_ index: Int) -> Int {
        source[index...].firstIndex { !$0.isPythonSpace } ?? source.count
    }

    /// Returns the start of the text after `raw %}`; nil if the block is another one.
    private func rawBody(_ index: Int) -> Int? {
        var index = afterSpace(min(index, source.count))
        guard source.hasPart(Text("raw"), at: index) else { return nil }
        index = afterSpace(index + 3)
        if source.hasPart(Text("-%}"), at: index) { return afterSpace(index + 3) }
        return source.hasPart(Text("%}"), at: index) ? index + 2 : nil
    }

    /// Reads the text of a raw block up to the end of its closing tag.
    private mutating func readRaw(_ start: Int) throws(Failure) {
        advance(to: start)
        var search = start
        while let open = source.firstIndex(of: ["{", "%"], from: search) {
            let sign = sign(open + 2)
            let name = afterSpace(min(open + 2 + (sign == nil ? 0 : 1), source.count))
            var close = source.hasPart(Text("endraw"), at: name) ? afterSpace(name + 6) : source.count
            let closingSign = self.sign(close)
            if closingSign != nil { close += 1 }
            if source.hasPart(["%", "}"], at: close) {
                addText(upTo: open, sign: sign, mark: "%")
                return advance(to: afterClosing(close + 2, sign: closingSign, trimsLine: true))
            }
            search = open + 2
        }
        if start < source.count { throw Failure(reason: "Missing end of raw directive") }
    }

    /// Reads the tokens of a tag, and its end.
    private mutating func readTokens(closing: Unicode.Scalar) throws(Failure) {
        brackets = []
        while position < source.count {
            if brackets.isEmpty, let end = closingEnd(closing) {
                add(closing == "%" ? .blockEnd : .variableEnd)
                return advance(to: end)
            }
            if source[position].isPythonSpace {
                advance(to: afterSpace(position))
                continue
            }
            guard let (kind, end) = try TagTokens.token(in: source, at: position) else {
                throw Failure(reason: "unexpected char \(Value.string([source[position]]).representation.string)")
            }
            if case .mark(let mark) = kind { try balance(mark) }
            add(kind)
            advance(to: end)
        }
    }

    private func closingEnd(_ closing: Unicode.Scalar) -> Int? {
        let sign = sign(position)
        // An expression has no closing mark with a plus.
        if sign == "+", closing == "}" { return nil }
        let start = position + (sign == nil ? 0 : 1)
        guard source.hasPart([closing, "}"], at: start) else { return nil }
        return afterClosing(start + 2, sign: sign, trimsLine: closing == "%")
    }

    private mutating func balance(_ mark: String) throws(Failure) {
        switch mark {
        case "(": brackets.append(")")
        case "[": brackets.append("]")
        case "{": brackets.append("}")
        case ")", "]", "}":
            guard let expected = brackets.popLast() else { throw Failure(reason: "unexpected '\(mark)'") }
            if String(expected) != mark { throw Failure(reason: "unexpected '\(mark)', expected '\(expected)'") }
        default: break
        }
    }
}
