import AccelByteIO

/// Numbers as Python's formats write them.
enum NumberFormat {
    /// The most digits behind the point.
    private static let mostDigits = 100

    /// Returns the digits of a number that is not negative.
    /// - Parameter type: one of `f`, `e`, `g`, `%`, or their upper case.
    static func digits(_ number: Double, type: Character, precision: Int?, keepsZeros: Bool = false) throws -> String {
        let precision = precision ?? 6
        guard precision <= mostDigits else { throw TemplateFailure.value("precision too big") }
        if !number.isFinite {
            let word = (number.isNaN ? "nan" : "inf") + (type == "%" ? "%" : "")
            return type.isUppercase ? word.uppercased() : word
        }
        let text: String
        switch type {
        case "f", "F": text = NumberText.fixed(number, digits: precision)
        case "%": text = NumberText.fixed(number * 100, digits: precision) + "%"
        case "e", "E": text = NumberText.scientific(number, digits: precision)
        default: text = general(number, max(1, precision), keepsZeros: keepsZeros)
        }
        return type.isUppercase ? text.uppercased() : text
    }

    /// The form that C's `%g` gives.
    private static func general(_ number: Double, _ precision: Int, keepsZeros: Bool) -> String {
        let scientific = NumberText.scientific(number, digits: precision - 1)
        let parts = scientific.split(separator: "e")
        let exponent = Int(parts.count > 1 ? parts[1] : "0") ?? 0
        var digits = parts[0].filter { $0 != "." }
        if !keepsZeros {
            while digits.count > 1, digits.last == "0" { digits.removeLast() }
        }
        let isScientific = exponent < -4 || exponent >= precision
        return FloatText.layout(String(digits), exponent, scientific: isScientific, minimumFraction: 0)
    }

    /// Returns digits with a mark after each group of three, or of four for other radixes, before the point.
    static func grouped(_ digits: String, by mark: Character, size: Int = 3) -> String {
        let whole = digits.prefix { $0.isHexDigit && $0 != "e" || size == 4 }
        var result = ""
        for (index, digit) in whole.enumerated() {
            if index > 0, (whole.count - index) % size == 0 { result.append(mark) }
            result.append(digit)
        }
        return result + digits.dropFirst(whole.count)
    }
}
