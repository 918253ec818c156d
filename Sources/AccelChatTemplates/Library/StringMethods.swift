/// The methods of strings, as Python's `str` has them.
enum StringMethods {
    static let table: [String: Function] = searching.merging(splitting) { $1 }.merging(changing) { $1 }
        .merging(asking) { $1 }

    private static func text(_ call: Call) -> Text { call.subject.text ?? [] }

    /// A result that is safe if its string was.
    private static func like(_ call: Call, _ text: Text) throws -> Value {
        try call.evaluator.budget.spend(scalars: text.count)
        if case .markup = call.subject { return .markup(text) }
        return .string(text)
    }

    /// Returns the second and third parameter as bounds within a count.
    static func bounds(_ call: Call, _ count: Int) throws -> (start: Int, end: Int) {
        func bound(_ index: Int, _ standard: Int) throws -> Int {
            guard let value = call.optional(index) else { return standard }
            let number = try Call.int(value)
            return max(0, number < 0 ? number + count : number)
        }
        return (try bound(1, 0), min(count, try bound(2, count)))
    }

    private static let searching: [String: Function] = [
        "find": Function("sub start? end?") { .integer(try find($0, last: false) ?? -1) },
        "rfind": Function("sub start? end?") { .integer(try find($0, last: true) ?? -1) },
        "index": Function("sub start? end?") { .integer(try found(find($0, last: false))) },
        "rindex": Function("sub start? end?") { .integer(try found(find($0, last: true))) },
        "count": Function("sub start? end?") { .integer(try count($0)) },
        "startswith": Function("prefix start? end?") { call in try affix(call) { $0.hasPart($1, at: 0) } },
        "endswith": Function("suffix start? end?") { call in
            try affix(call) { $0.hasPart($1, at: $0.count - $1.count) }
        },
    ]

    private static func find(_ call: Call, last: Bool) throws -> Int? {
        let (part, text) = (try call.text(0), text(call))
        let bounds = try bounds(call, text.count)
        return last
            ? text.lastIndex(of: part, from: bounds.start, to: bounds.end)
            : text.firstIndex(of: part, from: bounds.start, to: bounds.end)
    }

    private static func found(_ index: Int?) throws -> Int {
        guard let index else { throw TemplateFailure.value("substring not found") }
        return index
    }

    private static func count(_ call: Call) throws -> Int {
        let (part, text) = (try call.text(0), text(call))
        var (position, end) = try bounds(call, text.count)
        if part.isEmpty { return position <= end ? end - position + 1 : 0 }
        var count = 0
        while let index = text.firstIndex(of: part, from: position, to: end) {
            (position, count) = (index + part.count, count + 1)
        }
        end = position
        return count
    }

    private static func affix(_ call: Call, _ isAffix: (Text, Text) -> Bool) throws -> Value {
        let text = text(call)
        let bounds = try bounds(call, text.count)
        guard bounds.start <= bounds.end else { return .bool(false) }
        let part = Array(text[bounds.start..<bounds.end])
        guard case .tuple(let items)? = call[0] else { return .bool(isAffix(part, try call.text(0))) }
        return .bool(try items.elements.contains { isAffix(part, try Call.text($0)) })
    }

    private static let splitting: [String: Function] = [
        "split": Function("sep? maxsplit?") { try split($0, fromEnd: false) },
        "rsplit": Function("sep? maxsplit?") { try split($0, fromEnd: true) },
        "splitlines": Function("keepends?") { call in
            try .list(text(call).lines(keepEnds: call.flag(0)).map { try like(call, $0) })
        },
        "partition": Function("sep") { try partition($0, last: false) },
        "rpartition": Function("sep") { try partition($0, last: true) },
        "join": Function("iterable") { call in
            let parts = try (call[0] ?? .none).elements(call.evaluator).enumerated().map { index, element in
                guard let text = element.text else {
                    throw TemplateFailure.type(
                        "sequence item \(index): expected str instance, \(element.typeName) found")
                }
                return text
            }
            try call.evaluator.budget.spend(
                scalars: parts.reduce(0) { $0 + $1.count } + parts.count * text(call).count)
            return try like(call, parts.joined(by: text(call)))
        },
    ]

    private static func split(_ call: Call, fromEnd: Bool) throws -> Value {
        let most = try call.int(1, default: -1)
        let separator = try call.optional(0).map { try Call.text($0) }
        if let separator, separator.isEmpty { throw TemplateFailure.value("empty separator") }
        let limit = most < 0 ? Int.max : most
        let parts = SplitText(text(call), limit: limit).parts(separator: separator, fromEnd: fromEnd)
        return try .list(parts.map { try like(call, $0) })
    }

    private static func partition(_ call: Call, last: Bool) throws -> Value {
        let (text, separator) = (text(call), try call.text(0))
        guard !separator.isEmpty else { throw TemplateFailure.value("empty separator") }
        var parts = [text, [], []]
        if let index = last ? text.lastIndex(of: separator) : text.firstIndex(of: separator) {
            parts = [Array(text[..<index]), separator, Array(text[(index + separator.count)...])]
        } else if last {
            parts = [[], [], text]
        }
        return try .tuple(parts.map { try like(call, $0) })
    }

    private static let changing: [String: Function] = [
        "upper": Function { try like($0, text($0).uppercased()) },
        "lower": Function { try like($0, text($0).lowercased()) },
        "casefold": Function { try like($0, text($0).lowercased()) },
        "title": Function { try like($0, text($0).titled()) },
        "capitalize": Function { try like($0, text($0).capitalized()) },
        "swapcase": Function { try like($0, text($0).swappedCase()) },
        "strip": Function("chars?") { try strip($0, left: true, right: true) },
        "lstrip": Function("chars?") { try strip($0, left: true, right: false) },
        "rstrip": Function("chars?") { try strip($0, left: false, right: true) },
        "replace": Function("old new count?") { call in
            let (text, old, new, most) = (text(call), try call.text(0), try call.text(1), try call.int(2, default: -1))
            return try replaced(text, old, new, most, call.evaluator).map { try like(call, $0) } ?? .none
        },
        "removeprefix": Function("prefix") { call in
            let (text, part) = (text(call), try call.text(0))
            return try like(call, text.hasPart(part, at: 0) ? Array(text.dropFirst(part.count)) : text)
        },
        "removesuffix": Function("suffix") { call in
            let (text, part) = (text(call), try call.text(0))
            let hasSuffix = !part.isEmpty && text.hasPart(part, at: text.count - part.count)
            return try like(call, hasSuffix ? Array(text.dropLast(part.count)) : text)
        },
        "center": Function("width fillchar?") { try pad($0) { ($0 / 2 + ($0 & $1 & 1)) } },
        "ljust": Function("width fillchar?") { try pad($0) { _, _ in 0 } },
        "rjust": Function("width fillchar?") { try pad($0) { padding, _ in padding } },
        "zfill": Function("width") { call in
            let text = text(call)
            let zeros = max(0, try call.int(0, default: 0) - text.count)
            try call.evaluator.budget.spend(scalars: zeros)
            let signs = text.first == "-" || text.first == "+" ? 1 : 0
            return try like(call, text.prefix(signs) + Array(repeating: "0", count: zeros) + text.dropFirst(signs))
        },
        "expandtabs": Function("tabsize?") { call in
            let size = try call.int(0, default: 8)
            try call.evaluator.budget.spend(
                scalars: text(call).count.multipliedReportingOverflow(by: max(1, size)).partialValue)
            return try like(call, expanded(text(call), size))
        },
        "format": Function(nil) { call in
            try like(call, try FormatText(text(call), call.arguments, call.evaluator).formatted())
        },
        "format_map": Function("mapping") { call in
            guard case .dict(let dict)? = call[0] else { throw TemplateFailure.type("format_map() takes a mapping") }
            let named = zip(dict.keys, dict.values).map { Arguments.Named(name: $0.printed.string, value: $1) }
            let arguments = Arguments(named: named)
            return try like(call, try FormatText(text(call), arguments, call.evaluator).formatted())
        },
    ]

    private static func strip(_ call: Call, left: Bool, right: Bool) throws -> Value {
        let stripped = try call.optional(0).map { Set(try Call.text($0)) }
        return try like(
            call, text(call).stripped(left: left, right: right) { stripped?.contains($0) ?? $0.isPythonSpace })
    }

    /// Returns a text with a part replaced, after a check of the size of the result.
    static func replaced(_ text: Text, _ old: Text, _ new: Text, _ most: Int, _ evaluator: Evaluator) throws -> Text? {
        if new.count > old.count {
            let (size, overflow) = (text.count + 1).multipliedReportingOverflow(by: new.count + 1)
            if overflow || size > evaluator.budget.limits.output {
                // Few occurrences may still fit.
                let count = old.isEmpty ? text.count + 1 : SplitText(text, limit: Int.max).count(of: old)
                let used = min(count, most < 0 ? Int.max : most)
                let (added, overflow) = used.multipliedReportingOverflow(by: new.count)
                try evaluator.budget.spend(scalars: overflow ? Int.max : text.count + min(added, Int.max / 2))
            }
        }
        return text.replacing(old, with: new, most: most)
    }

    private static func pad(_ call: Call, _ left: (_ padding: Int, _ width: Int) -> Int) throws -> Value {
        let text = text(call)
        let width = try call.int(0, default: 0)
        let fill = try call[1].map { try Call.text($0) } ?? [" "]
        guard fill.count == 1 else {
            throw TemplateFailure.type("The fill character must be exactly one character long")
        }
        guard width > text.count else { return try like(call, text) }
        try call.evaluator.budget.spend(scalars: width)
        let before = left(width - text.count, width)
        let blanks = { (count: Int) in Text(repeating: fill[0], count: count) }
        return try like(call, blanks(before) + text + blanks(width - text.count - before))
    }

    private static func expanded(_ text: Text, _ size: Int) -> Text {
        var (result, column) = (Text(), 0)
        for scalar in text {
            switch scalar {
            case "\t":
                let blanks = size > 0 ? size - column % size : 0
                result += Text(repeating: " ", count: blanks)
                column += blanks
            case "\n", "\r":
                result.append(scalar)
                column = 0
            default:
                result.append(scalar)
                column += 1
            }
        }
        return result
    }

    private static let asking: [String: Function] = [
        "isalpha": Function { all($0, \.isPythonLetter) },
        "isdigit": Function { all($0, \.isPythonDigit) },
        "isdecimal": Function { all($0, \.isPythonDecimal) },
        "isnumeric": Function { all($0) { $0.properties.numericType != nil } },
        "isalnum": Function { all($0) { $0.isPythonLetter || $0.properties.numericType != nil } },
        "isspace": Function { all($0, \.isPythonSpace) },
        "isascii": Function { .bool(text($0).allSatisfy(\.isASCII)) },
        "isprintable": Function { .bool(text($0).allSatisfy(\.isPythonPrintable)) },
        "islower": Function { .bool(text($0).isOfCase(upper: false)) },
        "isupper": Function { .bool(text($0).isOfCase(upper: true)) },
        "istitle": Function { .bool(text($0).isTitled) },
        "isidentifier": Function { call in
            let text = text(call)
            let starts = text.first.map { $0 == "_" || $0.properties.isXIDStart } ?? false
            return .bool(starts && text.allSatisfy(\.properties.isXIDContinue))
        },
    ]

    private static func all(_ call: Call, _ condition: (Unicode.Scalar) -> Bool) -> Value {
        .bool(!text(call).isEmpty && text(call).allSatisfy(condition))
    }
}
