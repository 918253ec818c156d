/// Floats as Python writes them.
enum FloatText {
    /// Returns the shortest text that reads back equal, as Python's `repr` writes it.
    static func shortest(_ number: Double) -> String {
        if number.isNaN { return "nan" }
        if number.isInfinite { return number < 0 ? "-inf" : "inf" }
        let sign = number.sign == .minus ? "-" : ""
        let (digits, exponent) = decimal(number.magnitude)
        return sign + layout(digits, exponent, scientific: exponent < -4 || exponent >= 16, minimumFraction: 1)
    }

    /// Returns the shortest digits of a number that is not negative, and the power of ten of the first one.
    static func decimal(_ number: Double) -> (digits: String, exponent: Int) {
        // Swift writes the shortest digits too, in one of the forms 12.5, 1.25e+20 and 5e-324.
        let parts = number.description.split(separator: "e")
        let mantissa = parts[0].split(separator: ".")
        var digits = mantissa.joined()
        var exponent = (parts.count > 1 ? Int(parts[1]) ?? 0 : 0) + mantissa[0].count - 1
        while digits.count > 1, digits.first == "0" {
            digits.removeFirst()
            exponent -= 1
        }
        while digits.count > 1, digits.last == "0" { digits.removeLast() }
        return (digits, digits == "0" ? 0 : exponent)
    }

    /// Returns digits with their point or exponent.
    static func layout(_ digits: String, _ exponent: Int, scientific: Bool, minimumFraction: Int) -> String {
        if scientific {
            let rest = digits.dropFirst()
            let power = String(exponent.magnitude)
            let sign = exponent < 0 ? "-" : "+"
            return "\(digits.prefix(1))\(rest.isEmpty ? "" : "." + rest)e\(sign)\(power.count < 2 ? "0" : "")\(power)"
        }
        let zeros = { (count: Int) in String(repeating: "0", count: max(0, count)) }
        if exponent < 0 { return "0." + zeros(-exponent - 1) + digits }
        let whole = digits.prefix(exponent + 1)
        let fraction = digits.dropFirst(exponent + 1)
        let tail = fraction.isEmpty ? zeros(minimumFraction) : String(fraction)
        return whole + zeros(exponent + 1 - whole.count) + (tail.isEmpty ? "" : "." + tail)
    }
}
