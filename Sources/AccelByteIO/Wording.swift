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
}
