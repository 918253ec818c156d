/// Evaluates the expressions of a template.
final class ExpressionEvaluator {
    private unowned let evaluator: Evaluator
    private var budget: Budget { evaluator.budget }

    init(_ evaluator: Evaluator) { self.evaluator = evaluator }

    /// Returns the value of an expression.
    /// - Throws: `TemplateFailure`.
    func evaluate(_ expression: Expression, _ scope: Scope) throws -> Value {
        try budget.spend()
        return try budget.descend { try value(of: expression, scope) }
    }

    private func value(of expression: Expression, _ scope: Scope) throws -> Value {
        switch expression.kind {
        case .none: return .none
        case .bool(let flag): return .bool(flag)
        case .integer(let number): return .integer(number)
        case .float(let number): return .float(number)
        case .string(let text): return .string(text)
        case .name(let name): return scope.value(name) ?? .undefined(Undefined(.name(name)))
        case .list(let elements): return try .list(elements.map { try evaluate($0, scope) })
        case .tuple(let elements): return try .tuple(elements.map { try evaluate($0, scope) })
        case .dict(let pairs): return try dict(pairs, scope)
        case .negative(let operand): return try Operators.sign(try evaluate(operand, scope), isNegative: true)
        case .positive(let operand): return try Operators.sign(try evaluate(operand, scope), isNegative: false)
        case .not(let operand): return .bool(try !evaluate(operand, scope).isTrue)
        case .and(let left, let right):
            let value = try evaluate(left, scope)
            return value.isTrue ? try evaluate(right, scope) : value
        case .or(let left, let right):
            let value = try evaluate(left, scope)
            return value.isTrue ? value : try evaluate(right, scope)
        case .arithmetic(let operation, let left, let right):
            let operands = (try evaluate(left, scope), try evaluate(right, scope))
            return try Operators.apply(operation, operands.0, operands.1, evaluator)
        case .concatenation(let parts):
            var text: Text = []
            for part in parts {
                text += try evaluator.printed(try evaluate(part, scope))
                try budget.spend(scalars: text.count)
            }
            return .string(text)
        case .comparison(let first, let operands): return try compare(first, operands, scope)
        case .conditional(let test, let then, let otherwise):
            if try evaluate(test, scope).isTrue { return try evaluate(then, scope) }
            if let otherwise { return try evaluate(otherwise, scope) }
            let reason =
                "the inline if-expression on line \(expression.line) evaluated to false and no else section was defined."
            return .undefined(Undefined(.hint(reason)))
        case .attribute(let operand, let name):
            return try Access.attribute(name, of: try evaluate(operand, scope), evaluator)
        case .element(let operand, let index):
            let value = try evaluate(operand, scope)
            return try Access.element(try evaluate(index, scope), of: value, evaluator)
        case .slice(let operand, let start, let stop, let step):
            let value = try evaluate(operand, scope)
            let bounds = try [start, stop, step].map { try $0.map { try evaluate($0, scope) } ?? .none }
            return try Slice.elements(of: value, bounds, evaluator)
        case .call: return try call(expression, caller: nil, scope)
        case .filter(let operand, let application):
            return try filter(try evaluate(operand, scope), application, scope)
        case .test(let operand, let application):
            return .bool(try test(try evaluate(operand, scope), application, scope))
        }
    }

    private func dict(_ pairs: [Expression.Pair], _ scope: Scope) throws -> Value {
        let dict = Dict()
        for pair in pairs {
            let key = try evaluate(pair.key, scope)
            try budget.spend(key.size.weight)
            try dict.set(key, try evaluate(pair.value, scope))
        }
        return .dict(dict)
    }

    private func compare(_ first: Expression, _ operands: [Expression.Operand], _ scope: Scope) throws -> Value {
        var left = try evaluate(first, scope)
        for operand in operands {
            let right = try evaluate(operand.value, scope)
            guard try Operators.compare(operand.comparison, left, right, evaluator) else { return .bool(false) }
            left = right
        }
        return .bool(true)
    }

    /// Applies a filter.
    func filter(_ value: Value, _ application: Expression.Application, _ scope: Scope) throws -> Value {
        try filter(application.name, value, try arguments(application.arguments, scope))
    }

    /// Applies a filter by its name.
    func filter(_ name: String, _ value: Value, _ arguments: Arguments) throws -> Value {
        guard let filter = Filters.table[name] else {
            throw TemplateFailure(.evaluation, "No filter named '\(name)' found.")
        }
        return try filter.call(name, on: value, arguments, evaluator)
    }

    /// Applies a test.
    private func test(_ value: Value, _ application: Expression.Application, _ scope: Scope) throws -> Bool {
        try test(application.name, value, try arguments(application.arguments, scope))
    }

    /// Applies a test by its name.
    func test(_ name: String, _ value: Value, _ arguments: Arguments) throws -> Bool {
        guard let test = Tests.table[name] else {
            throw TemplateFailure(.evaluation, "No test named '\(name)' found.")
        }
        return try test.call(name, on: value, arguments, evaluator).isTrue
    }

    private func arguments(_ written: Expression.CallArguments, _ scope: Scope) throws -> Arguments {
        var arguments = Arguments()
        arguments.positional = try written.positional.map { try evaluate($0, scope) }
        arguments.named = try written.named.map { .init(name: $0.name, value: try evaluate($0.value, scope)) }
        if let list = written.list {
            arguments.positional += try evaluate(list, scope).elements(evaluator)
        }
        if let dict = written.dict {
            guard case .dict(let members) = try evaluate(dict, scope) else {
                throw TemplateFailure.type("argument after ** must be a mapping")
            }
            for (key, value) in zip(members.keys, members.values) {
                guard let name = key.text?.string else { throw TemplateFailure.type("keywords must be strings") }
                guard !arguments.named.contains(where: { $0.name == name }) else {
                    throw TemplateFailure.type("got multiple values for keyword argument '\(name)'")
                }
                try budget.spend()
                arguments.named.append(.init(name: name, value: value))
            }
        }
        return arguments
    }

    /// Calls a function.
    /// - Parameter caller: the macro of a call block; nil for other calls.
    func call(_ expression: Expression, caller: Value?, _ scope: Scope) throws -> Value {
        guard case .call(let callee, let written) = expression.kind else { return .none }
        let function = try evaluate(callee, scope)
        var arguments = try arguments(written, scope)
        if let caller { arguments.named.append(.init(name: "caller", value: caller)) }
        switch function {
        case .object(let object): return try object.call(arguments, evaluator)
        case .undefined(let undefined): throw undefined.failure
        default: throw TemplateFailure.type("'\(function.typeName)' object is not callable")
        }
    }
}
