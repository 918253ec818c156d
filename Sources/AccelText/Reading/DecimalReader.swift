/// Reads a number as `tokenizers` does: its digits as an integer, which is divided by a power of 10. That rounds twice, and scores that are
/// nearly equal are compared.
struct DecimalReader {
    private let bytes: UnsafeBufferPointer<UInt8>
    private(set) var position: Int

    private static let largestTenth = UInt64.max / 10

    /// Why the text is no number.
    struct Problem: Error {
        let reason: String
    }

    /// - Parameter position: where the number starts.
    init(_ bytes: UnsafeBufferPointer<UInt8>, _ position: Int) {
        self.bytes = bytes
        self.position = position
    }

    mutating func read() throws(Problem) -> Double {
        let isNegative = skip(UInt8(ascii: "-"))
        var (digits, exponent): (UInt64, Int) = (0, 0)
        var (count, isFull, hasPoint) = (0, false, false)
        while position < bytes.count {
            let byte = bytes[position]
            if byte &- 0x30 < 10 {
                let digit = UInt64(byte - 0x30)
                if digits < Self.largestTenth || digits == Self.largestTenth && digit <= UInt64.max % 10, !isFull {
                    digits = digits &* 10 &+ digit
                    if hasPoint { exponent -= 1 }
                } else {
                    // Further digits do not count.
                    isFull = true
                    if !hasPoint { exponent += 1 }
                }
                count += 1
            } else if byte == UInt8(ascii: "."), !hasPoint {
                hasPoint = true
            } else {
                break
            }
            position += 1
        }
        guard count > 0 else { throw Problem(reason: "expected a number") }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") { exponent += try self.exponent() }
        var value = Double(digits)
        while exponent < 0 {
            let step = min(-exponent, Self.powers.count - 1)
            value /= Self.powers[step]
            exponent = value == 0 ? 0 : exponent + step
        }
        if exponent > 0 { value *= exponent < Self.powers.count ? Self.powers[exponent] : .infinity }
        guard value.isFinite else { throw Problem(reason: "a number is too large") }
        return isNegative ? -value : value
    }

    private mutating func skip(_ mark: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == mark else { return false }
        position += 1
        return true
    }

    private mutating func exponent() throws(Problem) -> Int {
        position += 1
        let isNegative = skip(UInt8(ascii: "-"))
        if !isNegative { _ = skip(UInt8(ascii: "+")) }
        var (value, count) = (0, 0)
        while position < bytes.count, bytes[position] &- 0x30 < 10 {
            value = min(value * 10 + Int(bytes[position] - 0x30), 1_000_000)
            count += 1
            position += 1
        }
        guard count > 0 else { throw Problem(reason: "a number has no digit in its exponent") }
        return isNegative ? -value : value
    }

    private static let powers: [Double] = (0...308).compactMap { Double("1e\($0)") }
}
