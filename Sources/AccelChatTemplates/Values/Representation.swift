extension Value {
    /// The text that a template prints, as Python's `str` writes it.
    var printed: Text {
        switch self {
        case .string(let text), .markup(let text): text
        case .undefined: []
        default: representation
        }
    }

    /// The value as Python's `repr` writes it.
    var representation: Text { representation(level: 0) }

    /// The representation with escapes for what is beyond ASCII.
    var asciiRepresentation: Text { representation.flatMap { $0.isASCII ? [$0] : Self.escaped($0) } }

    /// - Parameter level: how many values it is in. Objects may be in themselves.
    func representation(level: Int) -> Text {
        guard level <= ValueSize.deepest else { return Text("...") }
        switch self {
        case .undefined: return Text("Undefined")
        case .none: return Text("None")
        case .bool(let flag): return Text(flag ? "True" : "False")
        case .integer(let number): return Text(String(number))
        case .float(let number): return Text(FloatText.shortest(number))
        case .string(let text): return Self.quoted(text)
        case .markup(let text): return Text("Markup(") + Self.quoted(text) + Text(")")
        case .list(let items): return Self.listed("[", items.elements, "]", level)
        case .tuple(let items):
            return Self.listed("(", items.elements, items.elements.count == 1 ? ",)" : ")", level)
        case .dict(let dict): return Self.listed(dict, level)
        case .view(let view):
            let elements = (try? view.elements()) ?? []
            return Text("\(view.kind.rawValue)(") + Self.listed("[", elements, "]", level) + Text(")")
        case .range(let range):
            let step = range.step == 1 ? "" : ", \(range.step)"
            return Text("range(\(range.start), \(range.stop)\(step))")
        case .generator(let generator): return Text("<\(generator.typeName) object>")
        case .object(let object): return object.representation(level: level + 1)
        }
    }

    private static func listed(_ open: String, _ elements: [Value], _ close: String, _ level: Int) -> Text {
        Text(open) + elements.map { $0.representation(level: level + 1) }.joined(by: Text(", ")) + Text(close)
    }

    static func listed(_ dict: Dict, _ level: Int) -> Text {
        let members = zip(dict.keys, dict.values).map { key, value in
            key.representation(level: level + 1) + Text(": ") + value.representation(level: level + 1)
        }
        return Text("{") + members.joined(by: Text(", ")) + Text("}")
    }

    /// A string in quotes: single ones, unless it has single and no double ones.
    private static func quoted(_ text: Text) -> Text {
        let quote: Unicode.Scalar = text.contains("'") && !text.contains("\"") ? "\"" : "'"
        var result: Text = [quote]
        for scalar in text {
            switch scalar {
            case quote, "\\": result += ["\\", scalar]
            case "\n": result += ["\\", "n"]
            case "\r": result += ["\\", "r"]
            case "\t": result += ["\\", "t"]
            default: result += scalar.isPythonPrintable ? [scalar] : escaped(scalar)
            }
        }
        return result + [quote]
    }

    /// A scalar as `\x7f`, `\u200b` or `\U000e0001`.
    static func escaped(_ scalar: Unicode.Scalar) -> Text {
        let (letter, width) = scalar.value < 0x100 ? ("x", 2) : scalar.value < 0x10000 ? ("u", 4) : ("U", 8)
        return Text("\\" + letter + hexadecimal(scalar.value, width: width))
    }

    /// Hexadecimal digits with leading zeros.
    static func hexadecimal(_ number: UInt32, width: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
