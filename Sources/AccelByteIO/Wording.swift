/// Numbers in sentences and tables.
package enum Wording {
    /// Returns a number with separators, such as `22,713,216`.
    package static func grouped(_ number: Int) -> String {
        var digits = Array(String(number.magnitude))
        for index in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: index) }
        return (number < 0 ? "-" : "") + String(digits)
    }

    /// Returns a number with its noun, such as `1 tensor` or `2 tensors`.
    package static func count(_ number: Int, _ noun: String, _ plural: String? = nil) -> String {
        "\(grouped(number)) \(number == 1 ? noun : plural ?? noun + "s")"
    }

    /// Returns the first names of a list, such as `a, b, c, ...`.
    package static func listed(_ names: [String], most: Int = 3) -> String {
        names.prefix(most).joined(separator: ", ") + (names.count > most ? ", ..." : "")
    }

    /// Returns a size such as `11.8 MB`, in powers of ten.
    /// - Parameter digits: those behind the point, for kB and more.
    package static func bytes(_ count: Int, digits: Int = 1) -> String {
        var value = Double(count)
        var unit = 0
        let units = ["B", "kB", "MB", "GB", "TB"]
        while value >= 999.95, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        return unit == 0 ? "\(count) B" : "\(NumberText.fixed(value, digits: digits)) \(units[unit])"
    }
}
