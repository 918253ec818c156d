import AccelByteIO

/// Formatting of numbers and tables for the tool's output.
enum Text {
    /// Returns "a", "a or b", or "a, b or c".
    static func alternatives(_ words: [String]) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " or " + last
    }

    /// Returns the first of several sentences, without its full stop.
    static func firstSentence(of text: String) -> String {
        text.firstRange(of: ". ").map { String(text[..<$0.lowerBound]) } ?? text
    }

    /// Parses `500MB`, `11.5 GB` or `0`, in powers of ten, and `12MiB`, in powers of 1024; nil for anything else.
    static func parseBytes(_ text: String) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isNumber || $0 == "." }
        let unit = text.dropFirst(digits.count).drop { $0 == " " }.uppercased()
        let (base, names) =
            unit.contains("I") ? (1024, ["B", "KIB", "MIB", "GIB", "TIB"]) : (1000, ["B", "KB", "MB", "GB", "TB"])
        guard let exponent = unit.isEmpty && Double(digits) == 0 ? 0 : names.firstIndex(of: unit) else { return nil }
        let factor = (0..<exponent).reduce(1) { product, _ in product * base }
        if let number = Int(digits) {
            let (bytes, overflow) = number.multipliedReportingOverflow(by: factor)
            return overflow ? nil : bytes
        }
        return Double(digits).flatMap { Int(exactly: ($0 * Double(factor)).rounded()) }
    }

    /// The form of a size, for errors.
    static let sizeForm = "expected a size with its unit, such as 12MB (B, kB, MB, GB or TB; KiB, MiB, GiB or TiB)"

    /// Parses `0`, `30 s`, `15m` or `2h`, in seconds; nil for anything else.
    static func parseAge(_ text: String) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let units = ["s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400]
        let unit = text.dropFirst(digits.count).drop { $0 == " " }.lowercased()
        guard let number = Int(digits), number <= 1_000_000,
            let factor = unit.isEmpty && number == 0 ? 1 : units[unit]
        else { return nil }
        return number * factor
    }

    /// Returns a sentence as one line. Control characters are replaced and the length is limited, so that text quoted
    /// from a file can neither control nor flood a terminal.
    static func line(_ sentence: String) -> String {
        let scalars = sentence.unicodeScalars.prefix(4000).map {
            $0.properties.generalCategory == .control ? "\u{FFFD}" : $0
        }
        let isCut = scalars.count == 4000
        return String(String.UnicodeScalarView(scalars)) + (isCut ? "..." : "")
    }

    static func decimals(_ value: Double, _ digits: Int) -> String {
        value.isInfinite ? (value < 0 ? "-inf" : "inf") : NumberText.fixed(value, digits: digits)
    }

    /// Returns the shortest text of a number: 0, -1.5.
    static func number(_ value: Double) -> String { Int(exactly: value).map { "\($0)" } ?? "\(value)" }

    /// Returns a table that keeps to the columns of standard output.
    static func table(_ columns: [TextTable.Column], _ rows: [[String]]) -> String {
        var table = TextTable(columns)
        rows.forEach { table.add($0) }
        return table.lines(width: Console.columns(of: .output), indent: 0).joined(separator: "\n")
    }
}

extension TextTable.Column: ExpressibleByStringInterpolation {
    package init(stringLiteral title: String) { self.init(title) }
    /// A column of numbers, which end at its right.
    static func number(_ title: String) -> Self { Self(title, number: true) }
}
