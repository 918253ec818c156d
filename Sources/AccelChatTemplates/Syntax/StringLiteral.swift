/// The escapes of string literals, as Python's `unicode-escape` has them.
enum StringLiteral {
    private static let simple: [Unicode.Scalar: Unicode.Scalar] = [
        "\\": "\\", "'": "'", "\"": "\"", "a": "\u{7}", "b": "\u{8}", "f": "\u{C}", "n": "\n", "r": "\r", "t": "\t",
        "v": "\u{B}",
    ]
    private static let widths: [Unicode.Scalar: Int] = ["x": 2, "u": 4, "U": 8]

    /// Returns the value of a literal, without its quotes.
    static func value(_ literal: Text) throws(Lexer.Failure) -> Text {
        guard literal.contains("\\") else { return Lexer.withLineFeeds(literal) }
        // Scalars beyond ASCII are escapes themselves when Jinja2 reads the others, so that a backslash before one escapes that escape.
        let ascii = Lexer.withLineFeeds(literal).flatMap { $0.isASCII ? [$0] : Value.escaped($0) }
        var (value, index) = (Text(), 0)
        while index < ascii.count {
            guard ascii[index] == "\\" else {
                value.append(ascii[index])
                index += 1
                continue
            }
            guard index + 1 < ascii.count else { throw Lexer.Failure(reason: "\\ at end of string") }
            index = try readEscape(ascii, index + 1, &value)
        }
        return value
    }

    /// Adds an escaped scalar, and returns the index after it.
    private static func readEscape(_ ascii: Text, _ start: Int, _ value: inout Text) throws(Lexer.Failure) -> Int {
        let letter = ascii[start]
        if letter == "\n" { return start + 1 }
        if let scalar = simple[letter] {
            value.append(scalar)
            return start + 1
        }
        if let width = widths[letter] {
            let digits = ascii[(start + 1)...].prefix(width)
            guard digits.count == width, let code = UInt32(Array(digits).string, radix: 16), digits.first != "+" else {
                throw Lexer.Failure(reason: "truncated \\\(letter) escape")
            }
            guard let scalar = Unicode.Scalar(code) else { throw Lexer.Failure(reason: "illegal Unicode character") }
            value.append(scalar)
            return start + 1 + width
        }
        if ("0"..."7").contains(letter) {
            let digits = ascii[start...].prefix(3).prefix { ("0"..."7").contains($0) }
            if let code = UInt32(Array(digits).string, radix: 8), let scalar = Unicode.Scalar(code) {
                value.append(scalar)
            }
            return start + digits.count
        }
        if letter == "N" { throw Lexer.Failure(reason: "names of characters are not supported") }
        value += ["\\", letter]
        return start + 1
    }
}
