/// Evaluates the statements of a template.
final class Evaluator {
    let budget: Budget
    let now: ChatTime
    /// The line of the statement that is being evaluated, as Jinja2 reports it.
    var line = 1
    private var output: Text = []
    /// Objects and scopes that may hold each other; they are emptied at the end.
    private var holders: [() -> Void] = []
    /// The steps that a holder counts for: it stays to the end.
    private static let holderCost = 20
    private(set) var root = Scope(parent: nil)
    private(set) lazy var expressions = ExpressionEvaluator(self)

    /// The way in which the statements of a loop's body end.
    enum Flow {
        case next, breakLoop, continueLoop
    }

    init(limits: ChatTemplateLimits, now: ChatTime) {
        budget = Budget(limits)
        self.now = now
    }

    /// Empties what may hold itself. The evaluator is of no use afterwards.
    func finish() {
        for release in holders { release() }
        root.removeAll()
    }

    /// Returns the output of a template.
    /// - Parameter variables: visible to the template, which may hide them by its own.
    func render(_ statements: [Statement], variables: [String: Value]) throws -> Text {
        let globals = Scope(Globals.table.mapValues { Value.object($0) }, parent: nil)
        let context = Scope(variables, parent: globals)
        root = Scope(parent: context)
        _ = try execute(statements, in: root)
        return output
    }

    /// Notes an object to be emptied at the end.
    func release(atEnd body: @escaping () -> Void) throws {
        try budget.spend(Self.holderCost)
        holders.append(body)
    }

    /// Adds to the output.
    private func write(_ text: Text) throws {
        try budget.spend(scalars: output.count + text.count, adding: text.count)
        output += text
    }

    /// Returns what statements print.
    func capture(_ statements: [Statement], in scope: Scope) throws -> Text {
        let outer = output
        output = []
        _ = try execute(statements, in: scope)
        defer { output = outer }
        return output
    }

    /// Returns what a value prints.
    func printed(_ value: Value) throws -> Text {
        try budget.spend(value.size.weight)
        return value.printed
    }

    private func execute(_ statements: [Statement], in scope: Scope) throws -> Flow {
        for statement in statements {
            let flow = try budget.descend { try execute(statement, in: scope) }
            if flow != .next { return flow }
        }
        return .next
    }

    private func execute(_ statement: Statement, in scope: Scope) throws -> Flow {
        try budget.spend()
        switch statement {
        case .output(let pieces):
            for piece in pieces { try write(piece, in: scope) }
        case .conditional(let branches, let otherwise):
            for branch in branches {
                line = branch.line
                if try evaluate(branch.test, scope).isTrue { return try execute(branch.body, in: scope) }
            }
            return try execute(otherwise, in: scope)
        case .loop(let loop):
            line = loop.line
            try run(loop, over: try evaluate(loop.iterable, scope), in: scope)
        case .set(let target, let value, let line):
            self.line = line
            try assign(try evaluate(value, scope), to: target, in: scope)
        case .setBlock(let target, let filters, let body, let line):
            let inner = Scope(parent: scope)
            let text = try capture(body, in: inner)
            self.line = line
            try assign(try apply(filters, to: text, in: inner), to: target, in: scope)
        case .macro(let definition, _):
            scope.set(definition.name ?? "", .object(try macro(definition, in: scope)))
        case .call(let definition, let call, let line):
            let caller = Value.object(try macro(definition, in: scope))
            self.line = line
            try write(try printed(try expressions.call(call, caller: caller, scope)))
        case .filterBlock(let filters, let body, let line):
            let inner = Scope(parent: scope)
            let text = try capture(body, in: inner)
            self.line = line
            try write(try printed(try apply(filters, to: text, in: inner)))
        case .with(let assignments, let body):
            let inner = Scope(parent: scope)
            for assignment in assignments {
                line = assignment.value.line
                try assign(try evaluate(assignment.value, scope), to: assignment.target, in: inner)
            }
            return try execute(body, in: inner)
        case .scope(let body):
            try write(try capture(body, in: Scope(parent: scope)))
        case .block(let body):
            _ = try execute(body, in: Scope(parent: root))
        case .breakLoop: return .breakLoop
        case .continueLoop: return .continueLoop
        }
        return .next
    }

    private func write(_ piece: Statement.Piece, in scope: Scope) throws {
        switch piece {
        case .text(let text): try write(text)
        case .expression(let expression):
            line = expression.line
            try write(try printed(try evaluate(expression, scope)))
        }
    }

    private func evaluate(_ expression: Expression, _ scope: Scope) throws -> Value {
        try expressions.evaluate(expression, scope)
    }

    private func apply(_ filters: [Statement.Filter], to text: Text, in scope: Scope) throws -> Value {
        try filters.reduce(.string(text)) { value, filter in
            try expressions.filter(value, filter.application, scope)
        }
    }

    private func macro(_ definition: MacroDefinition, in scope: Scope) throws -> Macro {
        // The macro holds the scope that holds the macro.
        try release { scope.removeAll() }
        return Macro(definition, in: scope)
    }

    /// Assigns a value to names, to those of a tuple one by one.
    func assign(_ value: Value, to target: Target, in scope: Scope) throws {
        switch target {
        case .name(let name): scope.set(name, value)
        case .attribute(let name, let attribute):
            guard case .object(let object as Namespace)? = scope.value(name) else {
                throw TemplateFailure(.evaluation, "cannot assign attribute on non-namespace object")
            }
            try object.set(attribute, value)
        case .tuple(let targets):
            guard let iterator = try value.iterator(self) else {
                throw TemplateFailure.type("cannot unpack non-iterable \(value.typeName) object")
            }
            var values: [Value] = []
            while let element = try iterator.next() {
                guard values.count < targets.count else {
                    throw TemplateFailure.value("too many values to unpack (expected \(targets.count))")
                }
                values.append(element)
            }
            guard values.count == targets.count else {
                throw TemplateFailure.value(
                    "not enough values to unpack (expected \(targets.count), got \(values.count))")
            }
            for (target, value) in zip(targets, values) { try assign(value, to: target, in: scope) }
        }
    }

    private func run(_ loop: LoopStatement, over iterable: Value, in scope: Scope) throws {
        guard loop.isRecursive else { return try run(loop, try Loop(loop, over: iterable, self, scope), in: scope) }
        try write(try recurse(loop, over: iterable, in: scope, depth: 0))
    }

    /// Returns what a recursive loop prints.
    func recurse(_ statement: LoopStatement, over iterable: Value, in scope: Scope, depth: Int) throws -> Text {
        let loop = try Loop(statement, over: iterable, self, scope, depth: depth)
        let outer = output
        output = []
        try budget.descend { try run(statement, loop, in: scope) }
        defer { output = outer }
        return output
    }

    private func run(_ statement: LoopStatement, _ loop: Loop, in scope: Scope) throws {
        var isEmpty = true
        while true {
            line = statement.line
            guard let element = try loop.advance(self) else { break }
            try budget.spend()
            let inner = Scope(["loop": .object(loop)], parent: scope)
            try assign(element, to: statement.target, in: inner)
            let flow = try execute(statement.body, in: inner)
            if flow == .breakLoop { break }
            // Jinja2 takes a loop for empty if none of its iterations came to the end of the body.
            if flow == .next { isEmpty = false }
        }
        if isEmpty { _ = try execute(statement.otherwise, in: Scope(parent: scope)) }
    }
}
