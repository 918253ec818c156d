/// Base64 (RFC 4648) with padding.
public enum Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    /// The value of each digit by its byte; 255 for other bytes.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }()
    private static let padding = UInt8(ascii: "=")

    /// Encodes bytes, without line breaks.
    public static func text(of bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let word = group.reduce(0) { $0 << 8 | UInt32($1) } << (8 * (3 - group.count))
            for index in 0..<4 {
                text.append(index <= group.count ? digits[Int(word >> (18 - 6 * index) & 63)] : padding)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes text; nil unless it is the canonical encoding: no white space, correct padding, no bits beyond the end.
    public static func bytes(of text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 4 == 0 else { return nil }
        let padded = digits.reversed().prefix { $0 == padding }.count
        guard padded <= 2 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 4 * 3)
        for start in stride(from: 0, to: digits.count, by: 4) {
            let missing = start + 4 == digits.count ? padded : 0
            var word: UInt32 = 0
            for digit in digits[start..<start + 4 - missing] {
                let value = values[Int(digit)]
                guard value < 64 else { return nil }
                word = word << 6 | UInt32(value)
            }
            word <<= 6 * UInt32(missing)
            guard word & (1 << (8 * UInt32(missing)) - 1) == 0 else { return nil }
            for index in 0..<3 - missing { bytes.append(UInt8(truncatingIfNeeded: word >> (16 - 8 * index))) }
        }
        return bytes
    }
}
