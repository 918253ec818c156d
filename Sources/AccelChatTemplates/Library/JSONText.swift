/// Values as JSON, as Python's `json.dumps` writes them.
struct JSONText {
    private let escapesUnicode: Bool
    private let indentation: Text?
    private let separator: Text
    private let colon: Text
    private let sortsKeys: Bool
    private var text: Text = []

    /// Returns the text of a value.
    /// - Parameter call: of the filter `tojson`, with its options.
    static func text(_ call: Call) throws -> Value {
        var writer = try JSONText(call)
        try call.evaluator.budget.spend(call.subject.size.weight)
        try writer.write(call.subject, level: 0, call.evaluator)
        return .string(writer.text)
    }

    private init(_ call: Call) throws {
        escapesUnicode = call.flag(0)
        indentation = try call.optional(1).map { indent in
            if let text = indent.text { return text }
            let width = max(0, try Call.int(indent))
            try call.evaluator.budget.spend(scalars: width)
            return Text(repeating: " ", count: width)
        }
        var marks = (separator: Text(indentation == nil ? ", " : ","), colon: Text(": "))
        if let separators = call.optional(2) {
            let parts = try separators.elements(call.evaluator)
            guard parts.count == 2 else { throw TemplateFailure.value("expected two separators") }
            marks = (try Call.text(parts[0]), try Call.text(parts[1]))
        }
        (separator, colon) = marks
        sortsKeys = call.flag(3)
    }

    private mutating func write(_ value: Value, level: Int, _ evaluator: Evaluator) throws {
        try evaluator.budget.spend(scalars: text.count / 64)
        switch value {
        case .none: text += Text("null")
        case .bool(let flag): text += Text(flag ? "true" : "false")
        case .integer(let number): text += Text(String(number))
        case .float(let number): text += Text(Self.number(number))
        case .string(let string), .markup(let string): write(string)
        case .list(let items), .tuple(let items):
            try list("[", items.elements, "]", level, evaluator) { writer, element in
                try writer.write(element, level: level + 1, evaluator)
            }
        case .dict(let dict):
            try list("{", try members(dict), "}", level, evaluator) { writer, member in
                writer.write(try Self.key(member.key))
                writer.text += writer.colon
                try writer.write(member.value, level: level + 1, evaluator)
            }
        default: throw TemplateFailure.type("Object of type \(value.typeName) is not JSON serializable")
        }
    }

    private typealias Member = (key: Value, value: Value)

    private func members(_ dict: Dict) throws -> [Member] {
        let members = Array(zip(dict.keys, dict.values)).map { Member($0.0, $0.1) }
        return sortsKeys ? try members.sorted { try $0.key.order($1.key) == .less } : members
    }

    private mutating func list<Element>(
        _ open: Unicode.Scalar, _ elements: [Element], _ close: Unicode.Scalar, _ level: Int, _ evaluator: Evaluator,
        _ body: (inout JSONText, Element) throws -> Void
    ) throws {
        text.append(open)
        for (index, element) in elements.enumerated() {
            if index > 0 { text += separator }
            try newLine(level + 1, evaluator)
            try body(&self, element)
        }
        if !elements.isEmpty { try newLine(level, evaluator) }
        text.append(close)
    }

    private mutating func newLine(_ level: Int, _ evaluator: Evaluator) throws {
        guard let indentation else { return }
        try evaluator.budget.spend(scalars: level * indentation.count)
        text.append("\n")
        for _ in 0..<level { text += indentation }
    }

    private static func number(_ number: Double) -> String {
        if number.isNaN { return "NaN" }
        return number.isInfinite ? (number < 0 ? "-Infinity" : "Infinity") : FloatText.shortest(number)
    }

    private static func key(_ key: Value) throws -> Text {
        switch key {
        case .string(let text), .markup(let text): return text
        case .none: return Text("null")
        case .bool(let flag): return Text(flag ? "true" : "false")
        case .integer(let number): return Text(String(number))
        case .float(let number): return Text(Self.number(number))
        default:
            throw TemplateFailure.type("keys must be str, int, float, bool or None, not \(key.typeName)")
        }
    }

    private static let short: [Unicode.Scalar: Text] = [
        "\"": Text("\\\""), "\\": Text("\\\\"), "\n": Text("\\n"), "\r": Text("\\r"), "\t": Text("\\t"),
        "\u{8}": Text("\\b"), "\u{C}": Text("\\f"),
    ]

    private mutating func write(_ string: Text) {
        text.append("\"")
        for scalar in string {
            if let escape = Self.short[scalar] {
                text += escape
            } else if scalar.value < 0x20 || escapesUnicode && scalar.value >= 0x7F {
                for unit in UTF16.encode(scalar).map(Array.init) ?? [] {
                    text += Text("\\u" + Value.hexadecimal(UInt32(unit), width: 4))
                }
            } else {
                text.append(scalar)
            }
        }
        text.append("\"")
    }
}
