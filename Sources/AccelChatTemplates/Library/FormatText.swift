/// A text with fields in braces, as `str.format` fills it.
struct FormatText {
    private let text: Text
    private let arguments: Arguments
    private let evaluator: Evaluator
    private static let deepestSpec = 3

    init(_ text: Text, _ arguments: Arguments, _ evaluator: Evaluator) {
        (self.text, self.arguments, self.evaluator) = (text, arguments, evaluator)
    }

    /// Returns the text with its fields filled.
    func formatted() throws -> Text {
        var automatic = 0
        return try filled(text, &automatic, depth: 0)
    }

    private func filled(_ text: Text, _ automatic: inout Int, depth: Int) throws -> Text {
        guard depth < Self.deepestSpec else { throw TemplateFailure.value("Max string recursion exceeded") }
        var (result, index) = (Text(), 0)
        while index < text.count {
            let scalar = text[index]
            index += 1
            guard scalar == "{" || scalar == "}" else {
                result.append(scalar)
                continue
            }
            if index < text.count, text[index] == scalar {
                result.append(scalar)
                index += 1
                continue
            }
            guard scalar == "{" else { throw TemplateFailure.value("Single '}' encountered in format string") }
            guard let end = fieldEnd(text, index) else {
                throw TemplateFailure.value("expected '}' before end of string")
            }
            result += try field(Array(text[index..<end]), &automatic, depth: depth)
            try evaluator.budget.spend(scalars: result.count)
            index = end + 1
        }
        return result
    }

    private func fieldEnd(_ text: Text, _ start: Int) -> Int? {
        var level = 0
        for index in start..<text.count {
            if text[index] == "{" { level += 1 }
            guard text[index] == "}" else { continue }
            if level == 0 { return index }
            level -= 1
        }
        return nil
    }

    private func field(_ field: Text, _ automatic: inout Int, depth: Int) throws -> Text {
        let nameEnd = field.firstIndex { $0 == "!" || $0 == ":" } ?? field.count
        var value = try value(Array(field[..<nameEnd]), &automatic)
        var rest = field[nameEnd...]
        if rest.first == "!" {
            guard rest.count >= 2, rest.count == 2 || rest[nameEnd + 2] == ":" else {
                throw TemplateFailure.value("expected ':' after conversion specifier")
            }
            switch rest[nameEnd + 1] {
            case "s": value = .string(try evaluator.printed(value))
            case "r", "a":
                try evaluator.budget.spend(value.size.weight)
                value = .string(rest[nameEnd + 1] == "r" ? value.representation : value.asciiRepresentation)
            default: throw TemplateFailure.value("Unknown conversion specifier")
            }
            rest = rest.dropFirst(2)
        }
        let spec = try filled(Array(rest.dropFirst()), &automatic, depth: depth + 1)
        return try FormatSpec(spec).formatted(value, evaluator)
    }

    /// Returns the value of a field such as `0`, `name`, `name.attribute[key]`.
    private func value(_ name: Text, _ automatic: inout Int) throws -> Value {
        let firstEnd = name.firstIndex { $0 == "." || $0 == "[" } ?? name.count
        let first = Array(name[..<firstEnd]).string
        var value: Value
        if first.isEmpty || first.allSatisfy({ $0.isASCII && $0.isNumber }) {
            let index = Int(first) ?? automatic
            if first.isEmpty { automatic += 1 }
            guard arguments.positional.indices.contains(index) else {
                throw TemplateFailure.value("Replacement index \(index) out of range for positional args tuple")
            }
            value = arguments.positional[index]
        } else {
            guard let named = arguments.named.first(where: { $0.name == first }) else {
                throw TemplateFailure.value(Value.string(first).representation.string)
            }
            value = named.value
        }
        var rest = name[firstEnd...]
        while let mark = rest.popFirst() {
            let isElement = mark == "["
            let part = Array(rest.prefix { isElement ? $0 != "]" : $0 != "." && $0 != "[" })
            rest = rest.dropFirst(part.count)
            if isElement, rest.popFirst() == nil { throw TemplateFailure.value("Missing ']' in format string") }
            let index = isElement ? Int(part.string).map(Value.integer) : nil
            value =
                try isElement
                ? Access.element(index ?? .string(part), of: value, evaluator)
                : Access.attribute(.init(part.string), of: value, evaluator)
        }
        return value
    }
}
