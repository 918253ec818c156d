/// Parses a template to statements.
final class StatementParser {
    private let stream: TokenStream
    private let expressions: ExpressionParser
    private let targets: TargetParser
    /// The tags that open blocks wait for, and the names of the open blocks.
    private var awaited: [[String]] = []
    private var openTags: [String] = []
    /// The loops around the current statement, up to the next macro.
    private var loops = 0

    /// Parses a template.
    /// - Throws: `TemplateFailure` with its line.
    static func parse(_ source: String, limits: ChatTemplateLimits) throws -> [Statement] {
        guard source.unicodeScalars.count <= limits.source else {
            throw TemplateFailure(.limit, "the template has more than \(limits.source) characters", line: 1)
        }
        let parser = StatementParser(try TokenStream(Lexer.tokens(of: source), nestingLimit: limits.nesting))
        let statements = try parser.statements()
        try parser.expressions.checks.finish()
        return statements
    }

    private init(_ stream: TokenStream) {
        self.stream = stream
        expressions = ExpressionParser(stream)
        targets = TargetParser(expressions)
    }

    /// Parses statements up to one of the awaited tags, or to the end of the template.
    private func statements() throws -> [Statement] {
        var statements: [Statement] = []
        var pieces: [Statement.Piece] = []
        func flush() {
            if !pieces.isEmpty { statements.append(.output(pieces)) }
            pieces = []
        }
        while true {
            switch stream.current.kind {
            case .data(let text):
                pieces.append(.text(text))
                try stream.advance()
            case .variableBegin:
                try stream.advance()
                pieces.append(.expression(try expressions.tuple()))
                try stream.expect(.variableEnd)
            case .blockBegin:
                flush()
                try stream.advance()
                if let tags = awaited.last, case .name(let name) = stream.current.kind, tags.contains(name) {
                    return statements
                }
                if let statement = try stream.descend(statement) { statements.append(statement) }
                try stream.expect(.blockEnd)
            default:
                flush()
                return statements
            }
        }
    }

    /// Parses the body of a block up to one of its closing tags, and returns that tag.
    private func body(until tags: String...) throws -> (body: [Statement], end: String) {
        _ = try stream.skip(mark: ":")
        try stream.expect(.blockEnd)
        awaited.append(tags)
        let body = try statements()
        guard case .name(let end) = stream.current.kind else { throw missingEnd(nil) }
        awaited.removeLast()
        try stream.advance()
        return (body, end)
    }

    /// Parses the body of a block whose variables are its own.
    private func scopedBody(until tag: String, isFunction: Bool = false) throws -> [Statement] {
        expressions.checks.openScope()
        let loops = loops
        if isFunction { self.loops = 0 }
        let body = try body(until: tag).body
        self.loops = loops
        expressions.checks.closeScope()
        return body
    }

    private func missingEnd(_ unknown: String?, line: Int? = nil) -> TemplateFailure {
        var sentences = [unknown.map { "Encountered unknown tag '\($0)'." } ?? "Unexpected end of template."]
        if let tags = awaited.last {
            let list = tags.map { "'\($0)'" }.joined(separator: " or ")
            let isMisplaced = unknown.map { name in awaited.contains { $0.contains(name) } } ?? false
            sentences.append(
                isMisplaced
                    ? "You probably made a nesting mistake. Jinja is expecting this tag, but currently looking for \(list)."
                    : "Jinja was looking for the following tags: \(list).")
        }
        if let tag = openTags.last { sentences.append("The innermost block that needs to be closed is '\(tag)'.") }
        return stream.failure(sentences.joined(separator: " "), line: line)
    }

    /// Parses a statement from its name on.
    private func statement() throws -> Statement? {
        guard case .name(let tag) = stream.current.kind else { throw stream.failure("tag name expected") }
        guard let parse = Self.tags[tag] else { throw missingEnd(tag, line: stream.line) }
        openTags.append(tag)
        let line = try stream.advance().line
        let statement = try parse(self)(line)
        openTags.removeLast()
        return statement
    }

    /// The statements by their names: a new one is a line.
    private static let tags: [String: @Sendable (StatementParser) -> (Int) throws -> Statement?] = [
        "if": { $0.parseIf }, "for": { $0.parseFor }, "set": { $0.parseSet }, "macro": { $0.parseMacro },
        "call": { $0.parseCall }, "filter": { $0.parseFilter }, "with": { $0.parseWith }, "print": { $0.parsePrint },
        "block": { $0.parseBlock }, "generation": { $0.parseGeneration }, "break": { $0.parseBreak },
        "continue": { $0.parseContinue }, "include": { $0.reject }, "import": { $0.reject }, "from": { $0.reject },
        "extends": { $0.reject }, "autoescape": { $0.reject },
    ]

    private func reject(line: Int) throws -> Statement? {
        throw stream.failure("'\(openTags.last ?? "")' is not supported in chat templates", line: line)
    }

    private func parseIf(line: Int) throws -> Statement? {
        let mark = expressions.checks.mark
        var branches: [Statement.Branch] = []
        var otherwise: [Statement] = []
        var line = line
        while true {
            let test = try expressions.tuple(conditional: false)
            let (body, end) = try body(until: "elif", "else", "endif")
            branches.append(.init(test: test, body: body, line: line))
            if end == "else" { otherwise = try self.body(until: "endif").body }
            if end != "elif" { break }
            line = stream.line
        }
        expressions.checks.forgive(since: mark)
        return .conditional(branches, otherwise: otherwise)
    }

    private func parseFor(line: Int) throws -> Statement? {
        targets.loops += 1
        let target = try targets.target(end: "in")
        try stream.expect(.name("in"))
        targets.loops -= 1
        let iterable = try expressions.tuple(conditional: false, end: "recursive")
        targets.loops += 1
        defer { targets.loops -= 1 }
        expressions.checks.openScope()
        let test = try stream.skip(name: "if") ? try expressions.expression() : nil
        let isRecursive = try stream.skip(name: "recursive")
        loops += 1
        let (body, end) = try body(until: "endfor", "else")
        loops -= 1
        let otherwise = end == "else" ? try self.body(until: "endfor").body : []
        expressions.checks.closeScope()
        return .loop(
            LoopStatement(
                target: target, iterable: iterable, test: test, isRecursive: isRecursive, body: body,
                otherwise: otherwise, line: line))
    }

    private func parseBreak(line: Int) throws -> Statement? {
        checkLoop("'break' outside loop", line)
        return .breakLoop
    }

    private func parseContinue(line: Int) throws -> Statement? {
        checkLoop("'continue' not properly in loop", line)
        return .continueLoop
    }

    private func checkLoop(_ reason: String, _ line: Int) {
        if loops == 0 { expressions.checks.add(stream.failure(reason, line: line)) }
    }

    private func parseSet(line: Int) throws -> Statement? {
        let target = try targets.target(allowsNamespace: true)
        if try stream.skip(mark: "=") { return .set(target, try expressions.tuple(), line: line) }
        let filters = try PostfixParser(expressions).blockFilters(isStarted: false)
        return .setBlock(target, filters: filters, body: try scopedBody(until: "endset"), line: line)
    }

    private func parseFilter(line: Int) throws -> Statement? {
        let filters = try PostfixParser(expressions).blockFilters(isStarted: true)
        return .filterBlock(filters, body: try scopedBody(until: "endfilter"), line: line)
    }

    private func parseWith(line: Int) throws -> Statement? {
        var assignments: [Statement.Assignment] = []
        while stream.current.kind != .blockEnd {
            if !assignments.isEmpty { try stream.expect(.mark(",")) }
            let target = try targets.target()
            try stream.expect(.mark("="))
            assignments.append(.init(target: target, value: try expressions.expression()))
        }
        return .with(assignments, body: try scopedBody(until: "endwith"))
    }

    private func parsePrint(line: Int) throws -> Statement? {
        var pieces: [Statement.Piece] = []
        while stream.current.kind != .blockEnd {
            if !pieces.isEmpty { try stream.expect(.mark(",")) }
            pieces.append(.expression(try expressions.expression()))
        }
        return .output(pieces)
    }

    private func parseBlock(line: Int) throws -> Statement? {
        let name = try stream.expectName()
        _ = try stream.skip(name: "scoped")
        _ = try stream.skip(name: "required")
        let body = try scopedBody(until: "endblock", isFunction: true)
        _ = try stream.skip(name: name)
        return .block(body)
    }

    private func parseGeneration(line: Int) throws -> Statement? {
        .scope(try scopedBody(until: "endgeneration", isFunction: true))
    }

    private func parseMacro(line: Int) throws -> Statement? {
        let nameLine = stream.line
        let name = try stream.expectName()
        try targets.check(name, line: nameLine)
        targets.checkLoop(name, line: nameLine)
        return .macro(try macro(name, try parameters(), until: "endmacro", line: line), line: line)
    }

    private func parseCall(line: Int) throws -> Statement? {
        let parameters = stream.isMark("(") ? try parameters() : []
        let call = try expressions.expression()
        guard case .call = call.kind else { throw stream.failure("expected call", line: line) }
        return .call(try macro(nil, parameters, until: "endcall", line: line), call, line: line)
    }

    private func macro(
        _ name: String?, _ parameters: [MacroDefinition.Parameter], until end: String, line: Int
    ) throws -> MacroDefinition {
        expressions.checks.openMacro()
        let body = try scopedBody(until: end, isFunction: true)
        let used = expressions.checks.closeMacro()
        let own = Set(parameters.map(\.name))
        if own.count < parameters.count {
            expressions.checks.add(stream.failure("duplicate argument in function definition", line: line))
        }
        if used.contains("caller"), let caller = parameters.first(where: { $0.name == "caller" }),
            caller.defaultValue == nil
        {
            let reason = "the special \"caller\" argument must be omitted or be given a default"
            expressions.checks.add(stream.failure(reason, line: line))
        }
        return MacroDefinition(
            name: name, parameters: parameters, body: body, usesCaller: used.contains("caller"),
            usesKeywords: used.contains("kwargs") && !own.contains("kwargs"),
            usesPositionals: used.contains("varargs") && !own.contains("varargs"), line: line)
    }

    private func parameters() throws -> [MacroDefinition.Parameter] {
        var parameters: [MacroDefinition.Parameter] = []
        try stream.expect(.mark("("))
        while !stream.isMark(")") {
            if !parameters.isEmpty { try stream.expect(.mark(",")) }
            let line = stream.line
            let name = try stream.expectName()
            try targets.check(name, line: line)
            if try stream.skip(mark: "=") {
                parameters.append(.init(name: name, defaultValue: try expressions.expression()))
            } else if parameters.last?.defaultValue != nil {
                throw stream.failure("non-default argument follows default argument")
            } else {
                parameters.append(.init(name: name, defaultValue: nil))
            }
        }
        try stream.expect(.mark(")"))
        return parameters
    }
}
