/// A text with fields such as `%s` or `%(name)05.1f`, as Python's `%` fills it.
struct PercentFormat {
    private let text: Text
    private let isSingle: Bool
    private let positional: [Value]
    private let mapping: Dict?
    /// Values that are not used are an error.
    private let isStrict: Bool
    private let evaluator: Evaluator

    init(_ text: Text, _ value: Value, _ evaluator: Evaluator) {
        (self.text, self.evaluator) = (text, evaluator)
        if case .dict(let dict) = value { mapping = dict } else { mapping = nil }
        if case .tuple(let items) = value {
            (positional, isSingle, isStrict) = (items.elements, false, true)
        } else {
            var isMapping = false
            if case .dict = value { isMapping = true }
            if case .list = value { isMapping = true }
            if case .undefined = value { isMapping = true }
            (positional, isSingle, isStrict) = ([value], true, !isMapping)
        }
    }

    private struct Field {
        var flags: Set<Unicode.Scalar> = []
        var width = 0
        var precision: Int?
    }

    /// Returns the text with its fields filled.
    func formatted() throws -> Text {
        var (result, index, used) = (Text(), 0, 0)
        func next() throws -> Value {
            guard used < positional.count else { throw TemplateFailure.type("not enough arguments for format string") }
            used += 1
            return positional[used - 1]
        }
        while index < text.count {
            guard text[index] == "%" else {
                result.append(text[index])
                index += 1
                continue
            }
            index += 1
            var value: Value?
            if index < text.count, text[index] == "(" {
                value = try member(&index)
                used = positional.count
            }
            let field = try field(&index, next)
            guard index < text.count else { throw TemplateFailure.value("incomplete format") }
            let type = text[index]
            index += 1
            if type == "%" {
                result.append("%")
                continue
            }
            let operand = try value ?? next()
            result += padded(
                try formatted(operand, type, field), field, isNumber: !["s", "r", "a", "c"].contains(type))
            try evaluator.budget.spend(scalars: result.count)
        }
        guard used >= positional.count || !isStrict else {
            throw TemplateFailure.type("not all arguments converted during string formatting")
        }
        return result
    }

    private func member(_ index: inout Int) throws -> Value {
        guard let mapping else { throw TemplateFailure.type("format requires a mapping") }
        guard let end = text[index...].firstIndex(of: ")") else { throw TemplateFailure.value("incomplete format key") }
        let key = Array(text[(index + 1)..<end])
        index = end + 1
        guard let value = mapping.value(key) else {
            throw TemplateFailure.value(Value.string(key).representation.string)
        }
        return value
    }

    private func field(_ index: inout Int, _ next: () throws -> Value) throws -> Field {
        var field = Field()
        while index < text.count, ["-", "+", " ", "#", "0"].contains(text[index]) {
            field.flags.insert(text[index])
            index += 1
        }
        func number() throws -> Int {
            if index < text.count, text[index] == "*" {
                index += 1
                return try Call.int(try next())
            }
            let digits = text[index...].prefix(while: \.isASCIIDigit)
            index += digits.count
            guard let number = digits.isEmpty ? 0 : Int(Array(digits).string) else {
                throw TemplateFailure.value("width too big")
            }
            return number
        }
        field.width = try number()
        if field.width < 0 {
            field.flags.insert("-")
            field.width = -max(field.width, -Int.max)
        }
        if index < text.count, text[index] == "." {
            index += 1
            field.precision = max(0, try number())
        }
        while index < text.count, ["h", "l", "L"].contains(text[index]) { index += 1 }
        try evaluator.budget.spend(scalars: field.width)
        return field
    }

    private func formatted(_ value: Value, _ type: Unicode.Scalar, _ field: Field) throws -> Text {
        switch type {
        case "s", "r", "a":
            try evaluator.budget.spend(value.size.weight)
            let text = type == "s" ? value.printed : type == "r" ? value.representation : value.asciiRepresentation
            return field.precision.map { Array(text.prefix($0)) } ?? text
        case "c":
            if let text = value.text, text.count == 1 { return text }
            guard let code = value.integer, let scalar = Unicode.Scalar(UInt32(clamping: code)) else {
                throw TemplateFailure.type("%c requires int or char")
            }
            return [scalar]
        case "d", "i", "u", "x", "X", "o": return try integer(value, type, field)
        case "e", "E", "f", "F", "g", "G":
            guard let number = value.number else {
                throw TemplateFailure.type("must be real number, not \(value.typeName)")
            }
            let digits = try NumberFormat.digits(
                number.magnitude, type: Character(type), precision: field.precision,
                keepsZeros: field.flags.contains("#"))
            return signed(Text(digits), isNegative: number.sign == .minus && !number.isNaN, field)
        default:
            throw TemplateFailure.value("unsupported format character '\(type)'")
        }
    }

    private func integer(_ value: Value, _ type: Unicode.Scalar, _ field: Field) throws -> Text {
        let isDecimal = ["d", "i", "u"].contains(type)
        guard let number = try isDecimal ? value.integer ?? value.number.map(Numbers.integer) : value.integer else {
            let wanted = isDecimal ? "a real number" : "an integer"
            throw TemplateFailure.type("%\(type) format: \(wanted) is required, not \(value.typeName)")
        }
        let radix = isDecimal ? 10 : type == "o" ? 8 : 16
        var digits = Text(String(number.magnitude, radix: radix, uppercase: type == "X"))
        let missing = max(0, (field.precision ?? 0) - digits.count)
        try evaluator.budget.spend(scalars: missing)
        digits = Text(repeating: "0", count: missing) + digits
        let prefix = field.flags.contains("#") && !isDecimal ? Text("0\(type)") : []
        return signed(prefix + digits, isNegative: number < 0, field)
    }

    private func signed(_ digits: Text, isNegative: Bool, _ field: Field) -> Text {
        let sign = isNegative ? "-" : field.flags.contains("+") ? "+" : field.flags.contains(" ") ? " " : ""
        return Text(sign) + digits
    }

    private func padded(_ text: Text, _ field: Field, isNumber: Bool) -> Text {
        let count = max(0, field.width - text.count)
        if field.flags.contains("-") { return text + Text(repeating: " ", count: count) }
        guard isNumber, field.flags.contains("0") else { return Text(repeating: " ", count: count) + text }
        let sign = text.prefix { ["-", "+", " "].contains($0) }
        return sign + Text(repeating: "0", count: count) + text.dropFirst(sign.count)
    }
}
