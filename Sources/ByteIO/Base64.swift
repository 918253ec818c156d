/// Base64 as RFC 4648 defines it, with padding.
public enum Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    public static func text(of bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let word = (0..<3).reduce(UInt32(0)) { $0 << 8 | UInt32($1 < group.count ? group[start + $1] : 0) }
            for place in 0..<4 {
                text.append(place <= group.count ? digits[Int(word >> (18 - 6 * UInt32(place)) & 63)] : padding)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// nil for what is not the one way of writing some bytes: white space, missing padding, bits set beyond the end.
    public static func bytes(of text: String) -> [UInt8]? {
        let text = Array(text.utf8)
        guard text.count % 4 == 0 else { return nil }
        let padded = text.reversed().prefix { $0 == padding }.count
        guard padded <= 2 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        var (word, bits) = (UInt32(0), 0)
        for digit in text.dropLast(padded) {
            guard let value = value(of: digit) else { return nil }
            word = word << 6 | value
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: word >> UInt32(bits)))
                word &= 1 << UInt32(bits) - 1
            }
        }
        return word == 0 ? bytes : nil
    }

    private static let padding = UInt8(ascii: "=")

    private static func value(of digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
