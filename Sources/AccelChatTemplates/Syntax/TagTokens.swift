/// The tokens within tags: names, numbers, strings and marks.
enum TagTokens {
    private static let marks = [
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=",
        ".",
        ":", "|", ",", ";",
    ].map(Text.init)

    /// Returns the token at an index, and the index after it; nil if there is none.
    static func token(in source: Text, at start: Int) throws(Lexer.Failure) -> (Token.Kind, end: Int)? {
        let first = source[start]
        if first.isASCIIDigit {
            if !(start > 0 && source[start - 1] == "."), let float = float(source, start) { return float }
            return try integer(source, start)
        }
        if first == "'" || first == "\"", let end = stringEnd(source, start) {
            return (.string(try StringLiteral.value(Array(source[(start + 1)..<(end - 1)]))), end)
        }
        if isWord(first) {
            let end = source[start...].firstIndex { !isWord($0) } ?? source.count
            let isName = first == "_" || first.properties.isXIDStart
            guard isName, source[start..<end].allSatisfy(\.properties.isXIDContinue) else {
                throw Lexer.Failure(reason: "Invalid character in identifier")
            }
            return (.name(Array(source[start..<end]).string), end)
        }
        guard let mark = marks.first(where: { source.hasPart($0, at: start) }) else { return nil }
        return (.mark(mark.string), start + mark.count)
    }

    private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "_" || scalar.isPythonLetter || scalar.properties.numericType != nil
            || scalar.properties.isXIDContinue
    }

    private static func stringEnd(_ source: Text, _ start: Int) -> Int? {
        var index = start + 1
        while index < source.count {
            if source[index] == source[start] { return index + 1 }
            index += source[index] == "\\" ? 2 : 1
        }
        return nil
    }

    /// Returns the end of digits with single underscores between them; nil if there is no digit.
    private static func digitsEnd(_ source: Text, _ start: Int, _ isDigit: (Unicode.Scalar) -> Bool) -> Int? {
        guard start < source.count, isDigit(source[start]) else { return nil }
        var index = start + 1
        while index < source.count {
            if isDigit(source[index]) {
                index += 1
            } else if source[index] == "_", index + 1 < source.count, isDigit(source[index + 1]) {
                index += 2
            } else {
                break
            }
        }
        return index
    }

    private static func float(_ source: Text, _ start: Int) -> (Token.Kind, end: Int)? {
        guard var end = digitsEnd(source, start, \.isASCIIDigit) else { return nil }
        var isFloat = false
        if end < source.count, source[end] == ".", let fraction = digitsEnd(source, end + 1, \.isASCIIDigit) {
            (end, isFloat) = (fraction, true)
        }
        if end < source.count, source[end] == "e" || source[end] == "E" {
            let hasSign = end + 1 < source.count && (source[end + 1] == "+" || source[end + 1] == "-")
            if let exponent = digitsEnd(source, end + (hasSign ? 2 : 1), \.isASCIIDigit) {
                (end, isFloat) = (exponent, true)
            }
        }
        guard isFloat, let number = Double(Array(source[start..<end].filter { $0 != "_" }).string) else { return nil }
        return (.float(number), end)
    }

    private static func integer(_ source: Text, _ start: Int) throws(Lexer.Failure) -> (Token.Kind, end: Int) {
        let radixes: [Unicode.Scalar: Int] = ["b": 2, "B": 2, "o": 8, "O": 8, "x": 16, "X": 16]
        if source[start] == "0", start + 1 < source.count, let radix = radixes[source[start + 1]] {
            let isDigit = { (scalar: Unicode.Scalar) in
                scalar.isASCII && (Character(scalar).hexDigitValue ?? 16) < radix
            }
            let first = start + 2 < source.count && source[start + 2] == "_" ? start + 3 : start + 2
            if let end = digitsEnd(source, first, isDigit) { return try integer(source, first, end, radix) }
        }
        let isZero = source[start] == "0"
        let end = digitsEnd(source, start) { isZero ? $0 == "0" : $0.isASCIIDigit } ?? start + 1
        return try integer(source, start, end, 10)
    }

    private static func integer(
        _ source: Text, _ start: Int, _ end: Int, _ radix: Int
    ) throws(Lexer.Failure) -> (Token.Kind, end: Int) {
        guard let number = Int(Array(source[start..<end].filter { $0 != "_" }).string, radix: radix) else {
            throw Lexer.Failure(reason: "an integer exceeds 64 bits")
        }
        return (.integer(number), end)
    }
}
