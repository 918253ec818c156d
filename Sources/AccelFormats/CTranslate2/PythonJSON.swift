import AccelByteIO

extension JSON {
    /// Returns the document as `json.dump(value, indent=2, sort_keys=True)` of Python writes it: ASCII, each element of an array on
    /// a line of its own.
    func pythonText() -> String {
        var text = ""
        write(to: &text, level: 0)
        return text
    }

    private func write(to text: inout String, level: Int) {
        func list<Element>(_ open: String, _ elements: [Element], _ close: String, _ body: (Element) -> Void) {
            guard !elements.isEmpty else { return text += open + close }
            let indent = String(repeating: "  ", count: level + 1)
            text += open
            for (index, element) in elements.enumerated() {
                text += (index > 0 ? ",\n" : "\n") + indent
                body(element)
            }
            text += "\n" + indent.dropLast(2) + close
        }
        switch self {
        case .string(let string): Self.write(string, to: &text)
        case .array(let elements): list("[", elements, "]") { $0.write(to: &text, level: level + 1) }
        case .object(let members):
            list("{", members.sorted { $0.key < $1.key }, "}") { member in
                Self.write(member.key, to: &text)
                text += ": "
                member.value.write(to: &text, level: level + 1)
            }
        default: text += self.text()
        }
    }

    private static let escapes: [UInt16: String] = [
        0x22: "\\\"", 0x5C: "\\\\", 0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x08: "\\b", 0x0C: "\\f",
    ]

    private static func write(_ string: String, to text: inout String) {
        text += "\""
        for unit in string.utf16 {
            if let escape = escapes[unit] {
                text += escape
            } else if let scalar = Unicode.Scalar(unit), 0x20..<0x7F ~= unit {
                text.unicodeScalars.append(scalar)
            } else if unit == 0x7F {
                text += "\u{7F}"
            } else {
                let digits = String(unit, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        text += "\""
    }
}
