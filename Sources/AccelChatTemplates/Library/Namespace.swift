/// An object whose attributes a template sets.
final class Namespace: TemplateObject {
    private let attributes: Dict
    var typeName: String { "Namespace" }
    var isCallable: Bool { false }
    var size: ValueSize {
        // Namespaces may hold each other, and count as one.
        ValueSize(
            weight: attributes.values.reduce(1) { weight, value in
                if case .object(_ as Namespace) = value { return weight + 1 }
                return min(weight + value.size.weight, ValueSize.heaviest)
            })
    }

    init(_ attributes: Dict) throws {
        self.attributes = attributes
        for key in attributes.keys { try check(key.printed.string) }
    }

    private func check(_ name: String) throws {
        guard !name.hasPrefix("_") else {
            let shown = Value.string(name).representation.string
            throw TemplateFailure(
                .evaluation,
                "Chat templates cannot store underscore-prefixed attributes on a namespace, but got \(shown).")
        }
    }

    func set(_ name: String, _ value: Value) throws {
        try check(name)
        try attributes.set(name, value)
    }

    func attribute(_ name: String, _ evaluator: Evaluator) throws -> Value? { attributes.value(Text(name)) }

    func removeAll() { attributes.removeAll() }

    func representation(level: Int) -> Text {
        // A namespace within another one is not shown: it may be the same.
        level > 1 ? Text("<Namespace {...}>") : Text("<Namespace ") + Value.listed(attributes, level) + Text(">")
    }
}

/// Gives values one after the other, again and again.
final class Cycler: TemplateObject {
    private let values: [Value]
    private var position = 0
    let size: ValueSize
    var typeName: String { "Cycler" }
    var isCallable: Bool { false }

    init(_ arguments: Arguments) throws {
        guard !arguments.positional.isEmpty else { throw TemplateFailure.type("at least one item has to be provided") }
        values = arguments.positional
        size = try ValueSize(around: values)
    }

    func attribute(_ name: String, _ evaluator: Evaluator) throws -> Value? {
        switch name {
        case "current": values[position]
        case "pos": .integer(position)
        case "next", "reset": .object(BoundMethod(.object(self), name, name == "next" ? Self.next : Self.reset))
        default: nil
        }
    }

    private static let next = Function { call in
        guard case .object(let cycler as Cycler) = call.subject else { return .none }
        defer { cycler.position = (cycler.position + 1) % cycler.values.count }
        return cycler.values[cycler.position]
    }

    private static let reset = Function { call in
        if case .object(let cycler as Cycler) = call.subject { cycler.position = 0 }
        return .none
    }
}

/// Gives nothing at first, then a separator.
final class Joiner: TemplateObject {
    private let separator: Text
    private var isUsed = false
    var typeName: String { "Joiner" }

    init(_ separator: Text) { self.separator = separator }

    func call(_ arguments: Arguments, _ evaluator: Evaluator) throws -> Value {
        defer { isUsed = true }
        return .string(isUsed ? separator : [])
    }
}
