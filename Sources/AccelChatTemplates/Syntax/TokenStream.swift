/// The tokens of a template in the order of the parser.
final class TokenStream {
    private let tokens: [Token]
    private var position = 0
    private let nestingLimit: Int
    private var nesting = 0
    private(set) var current: Token

    /// - Throws: `TemplateFailure` if the first token is none.
    init(_ tokens: [Token], nestingLimit: Int) throws {
        self.tokens = tokens
        self.nestingLimit = nestingLimit
        current = tokens[0]
        try check()
    }

    private func check() throws {
        if case .failure(let reason) = current.kind { throw failure(reason) }
    }

    /// The current line.
    var line: Int { current.line }

    /// The token after the current one.
    var following: Token { tokens[min(position + 1, tokens.count - 1)] }

    /// Goes on to the next token, and returns the old one.
    @discardableResult
    func advance() throws -> Token {
        let old = current
        position = min(position + 1, tokens.count - 1)
        current = tokens[position]
        try check()
        return old
    }

    func isName(_ name: String) -> Bool { current.kind == .name(name) }
    func isMark(_ mark: String) -> Bool { current.kind == .mark(mark) }

    /// Skips a name, and returns whether it was there.
    func skip(name: String) throws -> Bool { try skip(.name(name)) }

    /// Skips a mark, and returns whether it was there.
    func skip(mark: String) throws -> Bool { try skip(.mark(mark)) }

    private func skip(_ kind: Token.Kind) throws -> Bool {
        guard current.kind == kind else { return false }
        try advance()
        return true
    }

    /// Skips a token that has to be there.
    func expect(_ kind: Token.Kind) throws {
        guard current.kind == kind else { throw unexpected(Token(kind: kind, line: 0).description) }
        try advance()
    }

    /// Reads a name.
    func expectName() throws -> String {
        guard case .name(let name) = current.kind else { throw unexpected("name") }
        try advance()
        return name
    }

    private func unexpected(_ expected: String) -> TemplateFailure {
        current.kind == .end
            ? failure("unexpected end of template, expected '\(expected)'.")
            : failure("expected token '\(expected)', got '\(current.description)'")
    }

    /// Returns a syntax error, by default at the current line.
    func failure(_ reason: String, line: Int? = nil) -> TemplateFailure {
        TemplateFailure(.syntax, reason, line: line ?? current.line)
    }

    /// Parses one level deeper.
    /// - Throws: `TemplateFailure` beyond the limit.
    func descend<Result>(_ body: () throws -> Result) throws -> Result {
        nesting += 1
        guard nesting <= nestingLimit else {
            throw TemplateFailure(
                .limit, "the template is nested more than \(nestingLimit) levels deep", line: current.line)
        }
        defer { nesting -= 1 }
        return try body()
    }
}
