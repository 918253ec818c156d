/// Attributes and elements of values, as Jinja2's sandbox gives them.
enum Access {
    /// Returns an attribute, or an element of that name.
    static func attribute(_ name: Expression.Name, of value: Value, _ evaluator: Evaluator) throws -> Value {
        if let attribute = try ownAttribute(name.string, of: value, evaluator) { return attribute }
        if case .dict(let dict) = value, let element = dict.value(name.text) { return element }
        return .undefined(Undefined(.attribute(name.string, typeName: value.typeName)))
    }

    /// Returns an element, or an attribute of that name.
    static func element(_ index: Value, of value: Value, _ evaluator: Evaluator) throws -> Value {
        if case .undefined(let undefined) = value { throw undefined.failure }
        try evaluator.budget.spend(index.size.weight)
        if let element = ownElement(index, of: value) { return element }
        guard let name = index.text?.string else {
            return .undefined(Undefined(.element(index, typeName: value.typeName)))
        }
        return try ownAttribute(name, of: value, evaluator)
            ?? .undefined(Undefined(.attribute(name, typeName: value.typeName)))
    }

    private static func ownElement(_ index: Value, of value: Value) -> Value? {
        if case .dict(let dict) = value { return (try? dict.value(index)) ?? nil }
        guard var position = index.integer, let count = try? value.length() else { return nil }
        if position < 0 { position += count }
        guard (0..<count).contains(position) else { return nil }
        switch value {
        case .list(let items), .tuple(let items): return items.elements[position]
        case .string(let text): return .string([text[position]])
        case .markup(let text): return .markup([text[position]])
        case .range(let range): return range[position]
        default: return nil
        }
    }

    /// Returns an attribute that the type of a value has; nil if it has none of that name.
    private static func ownAttribute(_ name: String, of value: Value, _ evaluator: Evaluator) throws -> Value? {
        if name.hasPrefix("__"), name.hasSuffix("__") {
            return .undefined(Undefined(.unsafe(name, typeName: value.typeName)))
        }
        switch value {
        case .undefined(let undefined): throw undefined.failure
        case .object(let object): return try object.attribute(name, evaluator)
        case .tuple(let items):
            if let index = items.names.firstIndex(of: name) { return items.elements[index] }
        case .integer, .bool, .float:
            if name == "real" { return value.integer.map(Value.integer) ?? value }
            if name == "imag" { return value.integer == nil ? .float(0) : .integer(0) }
        case .range(let range):
            let parts = ["start": range.start, "stop": range.stop, "step": range.step]
            if let part = parts[name] { return .integer(part) }
        default: break
        }
        if Methods.changing(value).contains(name) {
            return .undefined(Undefined(.unsafe(name, typeName: value.typeName)))
        }
        return Methods.table(value)[name].map { .object(BoundMethod(value, name, $0)) }
    }
}

/// A method, and the value that it belongs to.
final class BoundMethod: TemplateObject {
    let receiver: Value
    let name: String
    private let function: Function?

    var typeName: String { "builtin_function_or_method" }
    var size: ValueSize { receiver.size }

    init(_ receiver: Value, _ name: String, _ function: Function?) {
        (self.receiver, self.name, self.function) = (receiver, name, function)
    }

    func representation(level: Int) -> Text { Text("<built-in method \(name) of \(receiver.typeName) object>") }

    func call(_ arguments: Arguments, _ evaluator: Evaluator) throws -> Value {
        guard let function else { return .none }
        if !arguments.named.isEmpty, !function.signature.isOpen, !Methods.taking.contains(name) {
            throw TemplateFailure.type("\(name)() takes no keyword arguments")
        }
        try evaluator.budget.spend(receiver.size.weight)
        return try function.call(name, on: receiver, arguments, evaluator)
    }
}
