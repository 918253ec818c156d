import AccelByteIO

/// Rounds `value` to a number of significant decimal digits.
func rounded(_ value: Double, significantDigits digits: Int) -> Double {
    Double(NumberText.scientific(value, digits: digits - 1)) ?? value
}

/// The format of figures for people, the same in the terminal and on the page.
package enum FigureText {
    /// e.g. `17.2`, `exact`
    package static func decibels(_ value: Double) -> String { decibels(value, 0) }

    /// - Parameter more: the digits that are added to the usual ones.
    static func decibels(_ value: Double, _ more: Int) -> String {
        if value == .infinity { return "exact" }
        if value == -.infinity { return "-inf" }
        return value.isNaN ? "nan" : NumberText.fixed(value, digits: 1 + more)
    }

    /// e.g. `1.2e-06`, `0`
    static func small(_ value: Double) -> String { small(value, 0) }

    static func small(_ value: Double, _ more: Int) -> String {
        if value == 0 { return "0" }
        return value.isFinite ? NumberText.scientific(value, digits: 1 + more) : (value.isNaN ? "nan" : "inf")
    }

    /// e.g. `4.13`
    static func fixed(_ value: Double, digits: Int) -> String { NumberText.fixed(value, digits: digits) }

    /// e.g. `0.999998`; one that would round up to 1 is `>0.999999`.
    package static func cosine(_ value: Double) -> String { cosine(value, 0) }

    static func cosine(_ value: Double, _ more: Int) -> String {
        let text = NumberText.fixed(value, digits: 6 + more)
        return value < 1 && text.hasPrefix("1.") ? ">0." + String(repeating: "9", count: 6 + more) : text
    }

    /// Returns two different figures with as many digits as tell them apart, and as the limit was written down with.
    /// - Parameter text: returns a figure with digits added to the usual ones.
    static func apart(_ value: Double, _ limit: Double, _ text: (Double, Int) -> String) -> (String, String) {
        let written = (0..<10).first { Double(text(limit, $0)) == limit } ?? 0
        let more = (written..<10).first { text(value, $0) != text(limit, $0) } ?? 10
        return (text(value, more), text(limit, more))
    }

    /// Returns a figure with all its digits where these are few, as those of a limit that was written down.
    static func whole(_ value: Double, _ text: (Double, Int) -> String) -> String {
        let more = (0..<6).first { Double(text(value, $0)) == value } ?? 0
        return text(value, more)
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
