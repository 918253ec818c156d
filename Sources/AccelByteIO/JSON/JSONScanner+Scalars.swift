extension JSONScanner {
    /// Reads a string.
    package mutating func string(_ wanted: String = "a string") throws(FormatError) -> String {
        guard try peek() == UInt8(ascii: "\"") else { throw error("expected \(wanted), found \(found())") }
        try count()
        let start = position
        position += 1
        var unescaped: [UInt8] = []
        var plainStart = position
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                let plain = UnsafeRawBufferPointer(rebasing: bytes[plainStart..<position])
                position += 1
                if unescaped.isEmpty { return try text(plain, start: start) }
                unescaped.append(contentsOf: plain)
                return try text(unescaped, start: start)
            case UInt8(ascii: "\\"):
                unescaped.append(contentsOf: bytes[plainStart..<position])
                unescaped.append(contentsOf: Array(String(try escaped()).utf8))
                plainStart = position
            case 0..<0x20:
                throw error("a control character (\(found())) in a string has to be escaped")
            default:
                position += 1
            }
        }
        throw error("a string has no closing quote", at: start)
    }

    private func text(_ utf8: some Collection<UInt8>, start: Int) throws(FormatError) -> String {
        guard let text = String(validating: utf8, as: UTF8.self) else {
            throw error("a string is not valid UTF-8", at: start)
        }
        return text
    }

    /// Reads an escape such as `\n`, `\u00e9`, or a surrogate pair.
    private mutating func escaped() throws(FormatError) -> Character {
        let start = position
        position += 1
        guard position < bytes.count else { throw error("the JSON document ends in a string") }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: throw error("unknown escape in a string", at: start)
        }
        let unit = try fourDigits(start)
        if let scalar = Unicode.Scalar(unit) { return Character(scalar) }
        // The first half of a surrogate pair, or an error.
        guard (0xD800...0xDBFF).contains(unit), position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        else { throw error("an incomplete surrogate pair in a string", at: start) }
        position += 2
        let low = try fourDigits(start)
        guard (0xDC00...0xDFFF).contains(low),
            let scalar = Unicode.Scalar(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
        else { throw error("an incomplete surrogate pair in a string", at: start) }
        return Character(scalar)
    }

    private mutating func fourDigits(_ start: Int) throws(FormatError) -> UInt32 {
        guard position + 4 <= bytes.count else { throw error("the JSON document ends in a string") }
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(bytes[position])).hexDigitValue, bytes[position] < 0x80 else {
                throw error("\\u needs four hexadecimal digits", at: start)
            }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }

    /// Reads a number. It is an integer if it has neither fraction nor exponent, and fits in 64 bits.
    mutating func number() throws(FormatError) -> JSON {
        _ = try peek()
        try count()
        let start = position
        let negative = bytes[position] == UInt8(ascii: "-")
        if negative { position += 1 }
        let digitsStart = position
        var magnitude: UInt64? = 0
        let digits = skipDigits { digit in
            guard let value = magnitude else { return }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(UInt64(digit))
            magnitude = overflow || carry ? nil : sum
        }
        guard digits > 0 else {
            position = start
            throw error("expected a JSON value, found \(found())")
        }
        if digits > 1 && bytes[digitsStart] == UInt8(ascii: "0") { throw error("a number starts with 0", at: start) }
        var isInteger = true
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            guard skipDigits() > 0 else { throw error("a number has no digit after its point", at: start) }
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            guard skipDigits() > 0 else { throw error("a number has no digit in its exponent", at: start) }
        }
        if isInteger, let magnitude, !(negative && magnitude == 0) {
            if !negative, let value = Int64(exactly: magnitude) { return .integer(value) }
            if negative, magnitude <= UInt64(Int64.max) + 1 {
                return .integer(Int64(truncatingIfNeeded: 0 &- magnitude))
            }
        }
        guard let value = Double(String(decoding: bytes[start..<position], as: UTF8.self)), value.isFinite else {
            throw error("a number is too large for 64-bit floating point", at: start)
        }
        return .number(value)
    }

    private mutating func skipDigits(_ body: (UInt8) -> Void = { _ in }) -> Int {
        let start = position
        while position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) {
            body(bytes[position] - UInt8(ascii: "0"))
            position += 1
        }
        return position - start
    }
}
