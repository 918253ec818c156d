/// Parses what values are assigned to.
final class TargetParser {
    private let expressions: ExpressionParser
    private var stream: TokenStream { expressions.stream }
    /// The loops around the current statement. Their variable `loop` is not assigned to.
    var loops = 0

    init(_ expressions: ExpressionParser) { self.expressions = expressions }

    /// Checks that a name is no constant.
    func check(_ name: String, line: Int) throws {
        if ["true", "false", "none", "True", "False", "None"].contains(name) {
            throw stream.failure("can't assign to 'name'", line: line)
        }
    }

    /// Notes an assignment to `loop` within a loop.
    func checkLoop(_ name: String, line: Int) {
        guard name == "loop", loops > 0 else { return }
        let reason = "Can't assign to special loop variable in for-loop target"
        expressions.checks.add(stream.failure(reason, line: line))
    }

    /// Parses what is assigned to: a name, a tuple of names, or an attribute of a namespace.
    func target(allowsNamespace: Bool = false, end: String? = nil) throws -> Target {
        let line = stream.line
        let node = try targetTuple(allowsNamespace: allowsNamespace, end: end)
        guard let target = node else { throw stream.failure("can't assign to this expression", line: line) }
        return target
    }

    private func targetTuple(allowsNamespace: Bool, end: String?) throws -> Target? {
        var targets: [Target?] = []
        var isTuple = false
        while true {
            if !targets.isEmpty { try stream.expect(.mark(",")) }
            if expressions.isTupleEnd(end) { break }
            targets.append(try singleTarget(allowsNamespace: allowsNamespace))
            guard stream.isMark(",") else { break }
            isTuple = true
        }
        if !isTuple {
            guard let only = targets.first else {
                throw stream.failure("Expected an expression, got '\(stream.current.description)'")
            }
            return only
        }
        let assignable = targets.compactMap(\.self)
        return assignable.count == targets.count ? .tuple(assignable) : nil
    }

    /// Parses one target; nil for an expression that is none.
    private func singleTarget(allowsNamespace: Bool) throws -> Target? {
        if case .name(let name) = stream.current.kind, allowsNamespace, stream.following.kind == .mark(".") {
            try stream.advance()
            try stream.advance()
            return .attribute(name, try stream.expectName())
        }
        let expression = try expressions.primary()
        return target(of: expression)
    }

    private func target(of expression: Expression) -> Target? {
        switch expression.kind {
        case .name(let name):
            checkLoop(name, line: expression.line)
            return .name(name)
        case .tuple(let elements):
            let targets = elements.compactMap(target(of:))
            return targets.count == elements.count ? .tuple(targets) : nil
        default: return nil
        }
    }
}
