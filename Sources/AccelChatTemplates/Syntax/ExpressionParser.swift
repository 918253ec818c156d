/// Parses expressions, each precedence by a function.
final class ExpressionParser {
    let stream: TokenStream
    var checks = NameChecks()

    init(_ stream: TokenStream) { self.stream = stream }

    /// Parses an expression.
    /// - Parameter conditional: `a if b else c` may follow.
    func expression(conditional: Bool = true) throws -> Expression {
        try stream.descend { conditional ? try parseConditional() : try parseOr() }
    }

    private func parseConditional() throws -> Expression {
        let mark = checks.mark
        var line = stream.line
        var result = try parseOr()
        var length = 0
        while try stream.skip(name: "if") {
            try check(&length)
            let test = try parseOr()
            let otherwise = try stream.skip(name: "else") ? try stream.descend(parseConditional) : nil
            result = Expression(.conditional(test: test, then: result, otherwise: otherwise), line)
            checks.forgive(since: mark)
            line = stream.line
        }
        return result
    }

    private func parseOr() throws -> Expression {
        try chain(parseAnd) { try $0.skip(name: "or") ? { .or($0, $1) } : nil }
    }

    private func parseAnd() throws -> Expression {
        try chain(parseNot) { try $0.skip(name: "and") ? { .and($0, $1) } : nil }
    }

    /// Parses operands with operators between them, from left to right.
    private func chain(
        _ operand: () throws -> Expression,
        _ operation: (TokenStream) throws -> ((Expression, Expression) -> Expression.Kind)?
    ) throws -> Expression {
        var line = stream.line
        var left = try operand()
        var length = 0
        while let combine = try operation(stream) {
            try check(&length)
            left = Expression(combine(left, try operand()), line)
            line = stream.line
        }
        return left
    }

    /// The most operators of one precedence in a row: each is a level of the syntax tree.
    private static let longestChain = 250

    private func check(_ length: inout Int) throws {
        length += 1
        guard length <= Self.longestChain else {
            throw TemplateFailure(.limit, "more than \(Self.longestChain) operators in a row", line: stream.line)
        }
    }

    private func parseNot() throws -> Expression {
        guard stream.isName("not") else { return try parseComparison() }
        let line = try stream.advance().line
        return try stream.descend { Expression(.not(try parseNot()), line) }
    }

    private func parseComparison() throws -> Expression {
        var line = stream.line
        let first = try parseSum()
        var operands: [Expression.Operand] = []
        while let comparison = try comparison() {
            operands.append(.init(comparison: comparison, value: try parseSum()))
            line = stream.line
        }
        return operands.isEmpty ? first : Expression(.comparison(first, operands), line)
    }

    private func comparison() throws -> Expression.Comparison? {
        switch stream.current.kind {
        case .mark(let mark):
            guard let comparison = Expression.Comparison(rawValue: mark) else { return nil }
            try stream.advance()
            return comparison
        case .name("in"):
            try stream.advance()
            return .in
        case .name("not"):
            guard stream.following.kind == .name("in") else { return nil }
            try stream.advance()
            try stream.advance()
            return .notIn
        default: return nil
        }
    }

    private func parseSum() throws -> Expression {
        try chain(parseConcatenation) { try Self.arithmetic(["+", "-"], $0) }
    }

    private func parseConcatenation() throws -> Expression {
        let line = stream.line
        var parts = [try parseProduct()]
        while try stream.skip(mark: "~") { parts.append(try parseProduct()) }
        return parts.count == 1 ? parts[0] : Expression(.concatenation(parts), line)
    }

    private func parseProduct() throws -> Expression {
        try chain(parsePower) { try Self.arithmetic(["*", "/", "//", "%"], $0) }
    }

    private func parsePower() throws -> Expression {
        try chain({ try parseUnary() }) { try Self.arithmetic(["**"], $0) }
    }

    private static func arithmetic(
        _ marks: Set<String>, _ stream: TokenStream
    ) throws -> ((Expression, Expression) -> Expression.Kind)? {
        guard case .mark(let mark) = stream.current.kind, marks.contains(mark),
            let operation = Expression.Arithmetic(rawValue: mark)
        else { return nil }
        try stream.advance()
        return { .arithmetic(operation, $0, $1) }
    }

    private func parseUnary(filters: Bool = true) throws -> Expression {
        let line = stream.line
        var node: Expression
        if try stream.skip(mark: "-") {
            node = Expression(.negative(try stream.descend { try parseUnary(filters: false) }), line)
        } else if try stream.skip(mark: "+") {
            node = Expression(.positive(try stream.descend { try parseUnary(filters: false) }), line)
        } else {
            node = try primary()
        }
        let postfix = PostfixParser(self)
        node = try postfix.accesses(of: node)
        return filters ? try postfix.filters(of: node) : node
    }

    /// Parses a name, a literal, or an expression in brackets.
    func primary() throws -> Expression {
        let token = stream.current
        switch token.kind {
        case .name(let name):
            try stream.advance()
            return Expression(constant(name) ?? variable(name), token.line)
        case .string(var text):
            try stream.advance()
            while case .string(let more) = stream.current.kind {
                text += more
                try stream.advance()
            }
            return Expression(.string(text), token.line)
        case .integer(let number):
            try stream.advance()
            return Expression(.integer(number), token.line)
        case .float(let number):
            try stream.advance()
            return Expression(.float(number), token.line)
        case .mark("("):
            try stream.advance()
            let inner = try tuple(inParentheses: true)
            try stream.expect(.mark(")"))
            return inner
        case .mark("["): return try list()
        case .mark("{"): return try dict()
        default: throw stream.failure("unexpected '\(token.description)'", line: token.line)
        }
    }

    private func constant(_ name: String) -> Expression.Kind? {
        switch name {
        case "true", "True": .bool(true)
        case "false", "False": .bool(false)
        case "none", "None": Expression.Kind.none
        default: nil
        }
    }

    private func variable(_ name: String) -> Expression.Kind {
        checks.use(variable: name)
        return .name(name)
    }

    /// Parses an expression, or several with commas between them, which are a tuple.
    /// - Parameter end: a name that ends a tuple.
    func tuple(inParentheses: Bool = false, conditional: Bool = true, end: String? = nil) throws -> Expression {
        var line = stream.line
        var elements: [Expression] = []
        var isTuple = false
        while true {
            if !elements.isEmpty { try stream.expect(.mark(",")) }
            if isTupleEnd(end) { break }
            elements.append(try expression(conditional: conditional))
            guard stream.isMark(",") else { break }
            isTuple = true
            line = stream.line
        }
        if !isTuple {
            if let only = elements.first { return only }
            guard inParentheses else {
                throw stream.failure("Expected an expression, got '\(stream.current.description)'")
            }
        }
        return Expression(.tuple(elements), line)
    }

    func isTupleEnd(_ end: String?) -> Bool {
        switch stream.current.kind {
        case .variableEnd, .blockEnd, .mark(")"): true
        case .name(let name): name == end
        default: false
        }
    }

    private func list() throws -> Expression {
        let line = try stream.advance().line
        var elements: [Expression] = []
        while !stream.isMark("]") {
            if !elements.isEmpty { try stream.expect(.mark(",")) }
            if stream.isMark("]") { break }
            elements.append(try expression())
        }
        try stream.expect(.mark("]"))
        return Expression(.list(elements), line)
    }

    private func dict() throws -> Expression {
        let line = try stream.advance().line
        var pairs: [Expression.Pair] = []
        while !stream.isMark("}") {
            if !pairs.isEmpty { try stream.expect(.mark(",")) }
            if stream.isMark("}") { break }
            let key = try expression()
            try stream.expect(.mark(":"))
            pairs.append(.init(key: key, value: try expression()))
        }
        try stream.expect(.mark("}"))
        return Expression(.dict(pairs), line)
    }
}
