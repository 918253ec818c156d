/// Reads the rest of a JSON string from its first escape on.
struct JSONUnescaper {
    private let bytes: UnsafeBufferPointer<UInt8>
    private(set) var position: Int
    private var text: [UInt8] = []

    /// Why the string is invalid, and where.
    struct Problem: Error {
        let reason: String
        let position: Int
    }

    /// - Parameter position: where the first escape is, or where the bytes end.
    init(_ bytes: UnsafeBufferPointer<UInt8>, _ position: Int) {
        self.bytes = bytes
        self.position = position
    }

    /// Returns the bytes of a string without escapes, and goes behind its closing quote. The bytes may be invalid UTF-8.
    /// - Parameter start: where the string starts, behind its quote.
    mutating func rest(after start: Int) throws(Problem) -> [UInt8] {
        text = Array(bytes[start..<position])
        while let byte = take() {
            switch byte {
            case UInt8(ascii: "\""): return text
            case UInt8(ascii: "\\"): try escape()
            case 0..<0x20:
                throw Problem(reason: "a control character in a string has to be escaped", position: position - 1)
            default: text.append(byte)
            }
        }
        throw Problem(reason: "a string has no closing quote", position: start)
    }

    private mutating func take() -> UInt8? {
        guard position < bytes.count else { return nil }
        position += 1
        return bytes[position - 1]
    }

    private mutating func escape() throws(Problem) {
        let start = position - 1
        guard let byte = take() else { throw Problem(reason: "a string has no closing quote", position: start) }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): UTF8Text.append(try scalar(start), to: &text)
        default: throw Problem(reason: "unknown escape in a string", position: start)
        }
    }

    /// Reads the digits of a scalar, which may be a pair of surrogates.
    private mutating func scalar(_ start: Int) throws(Problem) -> UInt32 {
        let incomplete = Problem(reason: "an incomplete surrogate pair in a string", position: start)
        let scalar = try fourDigits(start)
        guard (0xD800..<0xE000).contains(scalar) else { return scalar }
        guard scalar < 0xDC00, take() == UInt8(ascii: "\\"), take() == UInt8(ascii: "u") else { throw incomplete }
        let low = try fourDigits(start)
        guard (0xDC00..<0xE000).contains(low) else { throw incomplete }
        return 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
    }

    private mutating func fourDigits(_ start: Int) throws(Problem) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = take(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw Problem(reason: "\\u needs four hexadecimal digits", position: start)
            }
            value = value << 4 | UInt32(digit)
        }
        return value
    }
}
