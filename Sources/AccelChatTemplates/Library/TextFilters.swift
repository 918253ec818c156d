/// Filters of texts.
enum TextFilters {
    static let table: [String: Function] = [
        "upper": Function { .string(try text($0).uppercased()) },
        "lower": Function { .string(try text($0).lowercased()) },
        "capitalize": Function { .string(try text($0).capitalized()) },
        "title": Function { .string(titled(try text($0))) },
        "trim": Function("chars?") { call in
            let stripped = try call.optional(0).map { Set(try Call.text($0)) }
            return .string(try text(call).stripped { stripped?.contains($0) ?? $0.isPythonSpace })
        },
        "string": Function { call in
            if case .markup = call.subject { return call.subject }
            return .string(try text(call))
        },
        "safe": Function { .markup(try text($0)) },
        "escape": escape, "e": escape,
        "forceescape": Function { .markup(HTMLText.escaped(try text($0))) },
        "replace": Function("old new count?") { call in
            let (text, old, new) = (try text(call), try printed(call, 0), try printed(call, 1))
            let most = try call.optional(2).map { try Call.int($0) } ?? -1
            return .string(try StringMethods.replaced(text, old, new, most, call.evaluator) ?? [])
        },
        "indent": Function("width? first? blank?") { .string(try indented($0)) },
        "center": Function("width?") { call in
            let (text, width) = (try text(call), try call.int(0, default: 80))
            return try StringMethods.table["center"]?.call(
                "center", on: .string(text), Arguments(positional: [.integer(width)]), call.evaluator) ?? .none
        },
        "format": Function(nil) { call in
            guard call.arguments.positional.isEmpty || call.arguments.named.isEmpty else {
                throw TemplateFailure.type("can't handle positional and keyword arguments at the same time")
            }
            let operand: Value =
                try call.arguments.named.isEmpty
                ? .tuple(call.arguments.positional) : .dict(call.arguments.dict())
            return .string(try PercentFormat(try text(call), operand, call.evaluator).formatted())
        },
        "truncate": Function("length? killwords? end? leeway?") { try truncated($0) },
        "wordcount": Function { call in
            let text = try text(call)
            func isWord(_ scalar: Unicode.Scalar) -> Bool {
                scalar == "_" || scalar.isPythonLetter || scalar.properties.numericType != nil
            }
            return .integer(text.indices.count { isWord(text[$0]) && ($0 == 0 || !isWord(text[$0 - 1])) })
        },
        "urlencode": Function { call in
            if call.subject.text != nil { return .string(percentEncoded(try text(call))) }
            var pairs = call.subject
            if case .dict(let dict) = pairs { pairs = .view(DictView(kind: .items, dict: dict)) }
            guard try pairs.iterator(call.evaluator) != nil else { return .string(percentEncoded(try text(call))) }
            let members = try pairs.elements(call.evaluator).map { pair in
                let parts = try pair.elements(call.evaluator)
                guard parts.count == 2 else { throw TemplateFailure.value("urlencode takes pairs") }
                return try parts.map { percentEncoded(try call.evaluator.printed($0), inQuery: true) }.joined(by: ["="])
            }
            return .string(members.joined(by: ["&"]))
        },
    ]

    private static let escape = Function { .markup(HTMLText.escaped($0.subject)) }

    /// The text that the subject prints.
    private static func text(_ call: Call) throws -> Text {
        let text = try call.evaluator.printed(call.subject)
        try call.evaluator.budget.spend(on: text)
        return text
    }

    private static func printed(_ call: Call, _ index: Int) throws -> Text {
        try call.evaluator.printed(call[index] ?? .none)
    }

    /// The first letter after each mark between words in upper case, the others in lower case.
    private static func titled(_ text: Text) -> Text {
        func isBetween(_ scalar: Unicode.Scalar) -> Bool {
            scalar.isPythonSpace || ["-", "(", "{", "[", "<"].contains(scalar)
        }
        var result = Text()
        var word = Text()
        func flush() {
            if let first = word.first { result += [first].uppercased() + Array(word.dropFirst()).lowercased() }
            word = []
        }
        for scalar in text {
            if isBetween(scalar) {
                flush()
                result += [scalar]
            } else {
                word.append(scalar)
            }
        }
        flush()
        return result
    }

    private static func indented(_ call: Call) throws -> Text {
        if case .undefined(let undefined) = call.subject { throw undefined.failure }
        let text = try Call.text(call.subject)
        let width = call[0] ?? .integer(4)
        let blanks = try width.text ?? Text(repeating: " ", count: checkedWidth(Call.int(width), call))
        let lines = (text + ["\n"]).lines()
        try call.evaluator.budget.spend(scalars: text.count + lines.count * (blanks.count + 1))
        let isBlankIndented = call.flag(2)
        let rest = lines.dropFirst().map { $0.isEmpty && !isBlankIndented ? $0 : blanks + $0 }
        let result = ([lines.first ?? []] + rest).joined(by: ["\n"])
        return call.flag(1) ? blanks + result : result
    }

    private static func checkedWidth(_ width: Int, _ call: Call) throws -> Int {
        try call.evaluator.budget.spend(scalars: max(0, width))
        return max(0, width)
    }

    private static func truncated(_ call: Call) throws -> Value {
        let (length, end) = (try call.int(0, default: 255), try call[2].map { try Call.text($0) } ?? Text("..."))
        let leeway = try call.optional(3).map { try Call.int($0) } ?? 5
        guard length >= end.count else {
            throw TemplateFailure.value("expected length >= \(end.count), got \(length)")
        }
        guard leeway >= 0 else { throw TemplateFailure.value("expected leeway >= 0, got \(leeway)") }
        if try call.subject.length() - leeway <= length { return call.subject }
        let start = Array(try Call.text(call.subject).prefix(length - end.count))
        if call.flag(1) { return .string(start + end) }
        return .string(Array(start[..<(start.lastIndex(of: " ") ?? start.count)]) + end)
    }

    private static func percentEncoded(_ text: Text, inQuery: Bool = false) -> Text {
        Text(
            text.string.utf8.map { byte in
                let scalar = Unicode.Scalar(byte)
                let isKept = scalar.isASCII && (scalar.properties.isAlphabetic || scalar.isASCIIDigit)
                if isKept || ["_", ".", "-", "~"].contains(scalar) { return String(scalar) }
                if inQuery ? scalar == " " : scalar == "/" { return inQuery ? "+" : "/" }
                return "%" + Value.hexadecimal(UInt32(byte), width: 2).uppercased()
            }.joined())
    }
}
