/// How `str.format` writes one value: `[[fill]align][sign][#][0][width][grouping][.precision][type]`.
struct FormatSpec {
    private var fill: Unicode.Scalar = " "
    private var align: Unicode.Scalar?
    private var sign: Unicode.Scalar = "-"
    private var isAlternate = false
    private var width = 0
    private var grouping: Unicode.Scalar?
    private var precision: Int?
    private var type: Unicode.Scalar?

    init(_ spec: Text) throws {
        var rest = spec[...]
        func isAlign(_ scalar: Unicode.Scalar) -> Bool { ["<", ">", "=", "^"].contains(scalar) }
        if rest.count > 1, isAlign(rest[rest.startIndex + 1]) {
            (fill, align) = (rest[rest.startIndex], rest[rest.startIndex + 1])
            rest = rest.dropFirst(2)
        } else if let first = rest.first, isAlign(first) {
            align = first
            rest = rest.dropFirst()
        }
        func take(_ marks: Set<Unicode.Scalar>) -> Unicode.Scalar? {
            guard let first = rest.first, marks.contains(first) else { return nil }
            rest = rest.dropFirst()
            return first
        }
        func number() throws -> Int? {
            let digits = rest.prefix(while: \.isASCIIDigit)
            rest = rest.dropFirst(digits.count)
            guard !digits.isEmpty else { return nil }
            guard let number = Int(Array(digits).string) else {
                throw TemplateFailure.value("Too many decimal digits in format string")
            }
            return number
        }
        sign = take(["+", "-", " "]) ?? "-"
        isAlternate = take(["#"]) != nil
        if take(["0"]) != nil, align == nil { (fill, align) = ("0", "=") }
        width = try number() ?? 0
        grouping = take([",", "_"])
        if take(["."]) != nil {
            precision = try number()
            guard precision != nil else { throw TemplateFailure.value("Format specifier missing precision") }
        }
        type = rest.popFirst()
        guard rest.isEmpty else { throw TemplateFailure.value("Invalid format specifier") }
    }

    /// Returns a value as text.
    func formatted(_ value: Value, _ evaluator: Evaluator) throws -> Text {
        try evaluator.budget.spend(scalars: width)
        switch value {
        case .string(let text), .markup(let text): return try padded(text)
        case .integer, .bool:
            if case .bool = value, type == nil, width == 0, precision == nil { return value.printed }
            return try padded(integer: value.integer ?? 0)
        case .float(let number): return try padded(float: number)
        default:
            guard type == nil, width == 0, precision == nil, align == nil else {
                throw TemplateFailure.type("unsupported format string passed to \(value.typeName).__format__")
            }
            return try evaluator.printed(value)
        }
    }

    private func unknownType(_ typeName: String) -> TemplateFailure {
        .value("Unknown format code '\(type.map(String.init) ?? "")' for object of type '\(typeName)'")
    }

    private func padded(_ text: Text) throws -> Text {
        guard type == nil || type == "s" else { throw unknownType("str") }
        guard align != "=" || fill == "0" else {
            throw TemplateFailure.value("'=' alignment not allowed in string format specifier")
        }
        let shown = precision.map { Array(text.prefix($0)) } ?? text
        return padded(sign: [], shown, align == "=" ? "<" : align ?? "<")
    }

    private func padded(integer: Int) throws -> Text {
        let radixes: [Unicode.Scalar: (Int, String)] = [
            "b": (2, "0b"), "o": (8, "0o"), "x": (16, "0x"), "X": (16, "0X"), "d": (10, ""), "n": (10, ""),
        ]
        if let type, ["e", "E", "f", "F", "g", "G", "%"].contains(type) { return try padded(float: Double(integer)) }
        if type == "c", let scalar = Unicode.Scalar(UInt32(clamping: integer)) {
            return padded(sign: [], [scalar], align ?? "<")
        }
        guard let (radix, prefix) = radixes[type ?? "d"] else { throw unknownType("int") }
        guard precision == nil else { throw TemplateFailure.value("Precision not allowed in integer format specifier") }
        let digits = String(integer.magnitude, radix: radix, uppercase: type == "X")
        return padded(
            number: digits, isNegative: integer < 0, prefix: isAlternate ? prefix : "", size: radix == 10 ? 3 : 4)
    }

    private func padded(float: Double) throws -> Text {
        let isNegative = float.sign == .minus && !float.isNaN
        let digits: String
        switch type {
        case nil where precision == nil: digits = FloatText.shortest(float.magnitude)
        case nil:
            let general = try NumberFormat.digits(float.magnitude, type: "g", precision: precision)
            digits = general.contains { ".en".contains($0) } ? general : general + ".0"
        case "e", "E", "f", "F", "g", "G", "%", "n":
            digits = try NumberFormat.digits(
                float.magnitude, type: type == "n" ? "g" : Character(type ?? "g"), precision: precision,
                keepsZeros: isAlternate)
        default: throw unknownType("float")
        }
        return padded(number: digits, isNegative: isNegative, prefix: "", size: 3)
    }

    private func padded(number: String, isNegative: Bool, prefix: String, size: Int) -> Text {
        let shownSign = isNegative ? "-" : sign == "-" ? "" : String(sign)
        let digits = grouping.map { NumberFormat.grouped(number, by: Character($0), size: size) } ?? number
        return padded(sign: Text(shownSign + prefix), Text(digits), align ?? ">")
    }

    private func padded(sign: Text, _ text: Text, _ align: Unicode.Scalar) -> Text {
        let blanks = max(0, width - sign.count - text.count)
        let left = align == ">" || align == "=" ? blanks : align == "^" ? blanks / 2 : 0
        let before = Text(repeating: fill, count: left)
        let after = Text(repeating: fill, count: blanks - left)
        return align == "=" ? sign + before + text : before + sign + text + after
    }
}
