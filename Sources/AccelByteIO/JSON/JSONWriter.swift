extension JSON {
    /// Returns the document as text. `pretty`: two spaces per level, arrays of scalars on one line, and a final
    /// newline. The text depends only on the value: members keep their order, and numbers are the shortest that read
    /// back equal. Infinity and NaN, which JSON lacks, become null.
    public func text(pretty: Bool = false) -> String {
        var writer = JSONWriter(pretty: pretty)
        writer.write(self)
        if pretty { writer.text.append("\n") }
        return writer.text
    }
}

private struct JSONWriter {
    let pretty: Bool
    var text = ""
    private var level = 0

    init(pretty: Bool) { self.pretty = pretty }

    mutating func write(_ value: JSON) {
        switch value {
        case .null: text.append("null")
        case .bool(let flag): text.append(flag ? "true" : "false")
        case .integer(let number): text.append(String(number))
        case .number(let number): text.append(number.isFinite ? number.description : "null")
        case .string(let string): write(string)
        case .array(let elements):
            let inLine = pretty && elements.allSatisfy(\.isScalar)
            list("[", elements, "]", inLine: inLine) { $0.write($1) }
        case .object(let members):
            list("{", members, "}", inLine: false) {
                $0.write($1.key)
                $0.text.append($0.pretty ? ": " : ":")
                $0.write($1.value)
            }
        }
    }

    private mutating func list<Element>(
        _ open: String, _ elements: [Element], _ close: String, inLine: Bool,
        _ body: (inout JSONWriter, Element) -> Void
    ) {
        text.append(open)
        level += 1
        for (index, element) in elements.enumerated() {
            if index > 0 { text.append(inLine ? ", " : ",") }
            if !inLine { newLine() }
            body(&self, element)
        }
        level -= 1
        if !inLine && !elements.isEmpty { newLine() }
        text.append(close)
    }

    private mutating func newLine() {
        guard pretty else { return }
        text.append("\n")
        for _ in 0..<level { text.append("  ") }
    }

    private mutating func write(_ string: String) {
        text.append("\"")
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text.append("\\\"")
            case "\\": text.append("\\\\")
            case "\n": text.append("\\n")
            case "\r": text.append("\\r")
            case "\t": text.append("\\t")
            case "\u{0}"..."\u{1F}", "\u{7F}":
                let digits = String(scalar.value, radix: 16)
                text.append("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
            default: text.unicodeScalars.append(scalar)
            }
        }
        text.append("\"")
    }
}

extension JSON {
    fileprivate var isScalar: Bool {
        switch self {
        case .array, .object: false
        default: true
        }
    }
}
