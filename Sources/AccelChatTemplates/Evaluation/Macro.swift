/// A macro, with the variables that it can see.
final class Macro: TemplateObject {
    private let definition: MacroDefinition
    private let scope: Scope

    var typeName: String { "Macro" }

    init(_ definition: MacroDefinition, in scope: Scope) {
        (self.definition, self.scope) = (definition, scope)
    }

    func representation(level: Int) -> Text {
        guard let name = definition.name else { return Text("<Macro anonymous>") }
        return Text("<Macro ") + Value.string(name).representation + Text(">")
    }

    func attribute(_ name: String, _ evaluator: Evaluator) throws -> Value? {
        switch name {
        case "name": definition.name.map { .string($0) } ?? Value.none
        case "arguments": try .tuple(definition.parameters.map { .string($0.name) })
        case "catch_kwargs": .bool(definition.usesKeywords)
        case "catch_varargs": .bool(definition.usesPositionals)
        case "caller": .bool(definition.usesCaller)
        default: nil
        }
    }

    func call(_ arguments: Arguments, _ evaluator: Evaluator) throws -> Value {
        let inner = Scope(parent: scope)
        let given = try bind(arguments, in: inner)
        let line = evaluator.line
        evaluator.line = definition.line
        for (parameter, value) in zip(definition.parameters, given) where value == nil {
            let reason = "parameter '\(parameter.name)' was not provided"
            inner.set(parameter.name, .undefined(Undefined(.hint(reason))))
        }
        for (parameter, value) in zip(definition.parameters, given) where value == nil {
            if let standard = parameter.defaultValue {
                inner.set(parameter.name, try evaluator.expressions.evaluate(standard, inner))
            }
        }
        let text = try evaluator.budget.descend { try evaluator.capture(definition.body, in: inner) }
        evaluator.line = line
        return .string(text)
    }

    /// Sets the parameters and the special names that are given. Returns the values of the parameters.
    private func bind(_ arguments: Arguments, in inner: Scope) throws -> [Value?] {
        let parameters = definition.parameters
        var named = arguments.named
        func take(_ name: String) -> Value? {
            named.firstIndex { $0.name == name }.map { named.remove(at: $0).value }
        }
        var values: [Value?] = arguments.positional.prefix(parameters.count).map(\.self)
        values += parameters.dropFirst(values.count).map { take($0.name) }
        if definition.usesCaller, !parameters.contains(where: { $0.name == "caller" }) {
            let missing = Value.undefined(Undefined(.hint("No caller defined")))
            inner.set("caller", take("caller") ?? missing)
        }
        let name = definition.name.map { Value.string($0).representation.string } ?? "None"
        if definition.usesKeywords {
            inner.set("kwargs", .dict(try Arguments(named: named).dict()))
        } else if let extra = named.first {
            throw TemplateFailure.type("macro \(name) takes no keyword argument '\(extra.name)'")
        }
        let rest = Array(arguments.positional.dropFirst(parameters.count))
        if definition.usesPositionals {
            inner.set("varargs", try .tuple(rest))
        } else if !rest.isEmpty {
            throw TemplateFailure.type("macro \(name) takes not more than \(parameters.count) argument(s)")
        }
        for (parameter, value) in zip(parameters, values) {
            if let value { inner.set(parameter.name, value) }
        }
        return values
    }
}
