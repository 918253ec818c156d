import AccelByteIO

/// Rounds `value` to a number of significant decimal digits.
func rounded(_ value: Double, significantDigits digits: Int) -> Double {
    Double(NumberText.scientific(value, digits: digits - 1)) ?? value
}

/// The format of figures for people, the same in the terminal and on the page.
package enum Figure {
    /// e.g. `17.2`, `exact`
    package static func decibels(_ value: Double) -> String {
        if value == .infinity { return "exact" }
        if value == -.infinity { return "-inf" }
        return value.isNaN ? "nan" : NumberText.fixed(value, digits: 1)
    }

    /// e.g. `1.2e-06`, `0`
    static func small(_ value: Double) -> String {
        if value == 0 { return "0" }
        return value.isFinite ? NumberText.scientific(value, digits: 1) : (value.isNaN ? "nan" : "inf")
    }

    /// e.g. `4.13`
    static func fixed(_ value: Double, digits: Int) -> String { NumberText.fixed(value, digits: digits) }

    /// e.g. `0.999998`; never rounds up to 1.
    package static func cosine(_ value: Double) -> String {
        let text = NumberText.fixed(value, digits: 6)
        return value < 1 && text == "1.000000" ? "0.999999" : text
    }

    /// e.g. `22.7 MB`
    static func bytes(_ count: Int) -> String {
        let units = ["B", "kB", "MB", "GB", "TB"]
        var (value, unit) = (Double(count), 0)
        while value >= 999.5, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        return unit == 0 ? "\(count) B" : NumberText.fixed(value, digits: value < 9.95 ? 2 : 1) + " \(units[unit])"
    }
}
