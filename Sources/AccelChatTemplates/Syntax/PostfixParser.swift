/// Parses what follows an operand: attributes, elements, calls, filters and tests.
struct PostfixParser {
    private let parser: ExpressionParser
    private var stream: TokenStream { parser.stream }
    /// The most accesses or filters in a row: each is a level of the syntax tree.
    private static let longestChain = 250

    init(_ parser: ExpressionParser) { self.parser = parser }

    private func chain(_ node: Expression, _ next: (Expression) throws -> Expression?) throws -> Expression {
        var (node, length) = (node, 0)
        while let longer = try next(node) {
            (node, length) = (longer, length + 1)
            guard length <= Self.longestChain else {
                throw TemplateFailure(.limit, "more than \(Self.longestChain) accesses in a row", line: stream.line)
            }
        }
        return node
    }

    /// Parses attributes, elements and calls.
    func accesses(of node: Expression) throws -> Expression {
        try chain(node) { node in
            switch stream.current.kind {
            case .mark("."): try attribute(of: node)
            case .mark("["): try element(of: node)
            case .mark("("): try call(node)
            default: nil
            }
        }
    }

    /// Parses filters, tests and calls.
    func filters(of node: Expression) throws -> Expression {
        try chain(node) { node in
            switch stream.current.kind {
            case .mark("|"):
                try stream.advance()
                let line = stream.line
                return Expression(.filter(node, try application("filter", filter())), line)
            case .name("is"): return try test(of: node)
            case .mark("("): return try call(node)
            default: return nil
            }
        }
    }

    /// Parses the filters of a block.
    /// - Parameter isStarted: the first one has no `|` before it.
    func blockFilters(isStarted: Bool) throws -> [Statement.Filter] {
        var filters: [Statement.Filter] = []
        var isStarted = isStarted
        while try isStarted || stream.skip(mark: "|") {
            isStarted = false
            let line = stream.line
            filters.append(.init(application: try application("filter", filter()), line: line))
        }
        return filters
    }

    private func attribute(of node: Expression) throws -> Expression {
        let line = try stream.advance().line
        let token = try stream.advance()
        switch token.kind {
        case .name(let name): return Expression(.attribute(node, .init(name)), line)
        case .integer(let index): return Expression(.element(node, Expression(.integer(index), token.line)), line)
        default: throw stream.failure("expected name or number", line: token.line)
        }
    }

    private func element(of node: Expression) throws -> Expression {
        let line = try stream.advance().line
        var indices: [Expression] = []
        while !stream.isMark("]") {
            if !indices.isEmpty { try stream.expect(.mark(",")) }
            if let slice = try slice(of: node, line) {
                guard indices.isEmpty, stream.isMark("]") else {
                    throw stream.failure("a slice among several indices is not supported")
                }
                try stream.advance()
                return slice
            }
            let index = try parser.expression()
            if stream.isMark(":") {
                guard indices.isEmpty, let slice = try slice(of: node, line, start: index), stream.isMark("]") else {
                    throw stream.failure("a slice among several indices is not supported")
                }
                try stream.advance()
                return slice
            }
            indices.append(index)
        }
        try stream.expect(.mark("]"))
        return Expression(.element(node, indices.count == 1 ? indices[0] : Expression(.tuple(indices), line)), line)
    }

    /// Parses a slice from its first colon on; nil if there is none.
    private func slice(of node: Expression, _ line: Int, start: Expression? = nil) throws -> Expression? {
        guard try stream.skip(mark: ":") else { return nil }
        let isOpen = { stream.isMark("]") || stream.isMark(",") }
        let stop = stream.isMark(":") || isOpen() ? nil : try parser.expression()
        let step = try stream.skip(mark: ":") && !isOpen() ? try parser.expression() : nil
        return Expression(.slice(node, start: start, stop: stop, step: step), line)
    }

    private func call(_ node: Expression) throws -> Expression {
        let line = stream.line
        return Expression(.call(node, try arguments()), line)
    }

    /// Parses arguments in parentheses.
    private func arguments() throws -> Expression.CallArguments {
        let line = stream.line
        try stream.expect(.mark("("))
        var arguments = Expression.CallArguments()
        var isFirst = true
        while !stream.isMark(")") {
            if !isFirst {
                try stream.expect(.mark(","))
                if stream.isMark(")") { break }
            }
            isFirst = false
            guard try add(to: &arguments) else {
                throw stream.failure("invalid syntax for function call expression", line: line)
            }
        }
        try stream.expect(.mark(")"))
        return arguments
    }

    /// Parses an argument. Returns false if it may not follow the others.
    private func add(to arguments: inout Expression.CallArguments) throws -> Bool {
        if stream.isMark("*") {
            guard arguments.list == nil, arguments.dict == nil else { return false }
            try stream.advance()
            arguments.list = try parser.expression()
        } else if stream.isMark("**") {
            guard arguments.dict == nil else { return false }
            try stream.advance()
            arguments.dict = try parser.expression()
        } else if case .name(let name) = stream.current.kind, stream.following.kind == .mark("=") {
            guard arguments.dict == nil else { return false }
            if arguments.named.contains(where: { $0.name == name }) {
                parser.checks.add(stream.failure("keyword argument repeated: \(name)"))
            }
            try stream.advance()
            try stream.advance()
            arguments.named.append(.init(name: name, value: try parser.expression()))
        } else {
            guard arguments.list == nil, arguments.dict == nil, arguments.named.isEmpty else { return false }
            arguments.positional.append(try parser.expression())
        }
        return true
    }

    /// Parses the name of a filter and its arguments.
    private func filter() throws -> (name: String, line: Int, arguments: Expression.CallArguments) {
        let line = stream.line
        let name = try dottedName()
        return (name, line, stream.isMark("(") ? try arguments() : .init())
    }

    private func dottedName() throws -> String {
        var name = try stream.expectName()
        while try stream.skip(mark: ".") { name += "." + (try stream.expectName()) }
        return name
    }

    private func application(
        _ kind: String, _ parts: (name: String, line: Int, arguments: Expression.CallArguments)
    ) -> Expression.Application {
        let isKnown = kind == "filter" ? Filters.table[parts.name] != nil : Tests.table[parts.name] != nil
        parser.checks.use(kind, parts.name, isKnown: isKnown, line: parts.line)
        return .init(name: parts.name, arguments: parts.arguments)
    }

    private func test(of node: Expression) throws -> Expression {
        let line = try stream.advance().line
        let isNegated = try stream.skip(name: "not")
        let name = try dottedName()
        let arguments = try testArguments()
        let test = Expression(.test(node, application("test", (name, line, arguments))), line)
        return isNegated ? Expression(.not(test), line) : test
    }

    private func testArguments() throws -> Expression.CallArguments {
        switch stream.current.kind {
        case .mark("("): return try arguments()
        case .name("else"), .name("or"), .name("and"): return .init()
        case .name("is"): throw stream.failure("You cannot chain multiple tests with is")
        case .name, .string, .integer, .float, .mark("["), .mark("{"):
            return .init(positional: [try accesses(of: try parser.primary())])
        default: return .init()
        }
    }
}
