import AccelByteIO

/// Reads the large lists of a JSON document in place: vocabularies and merges, without a value for each word.
struct JSONCursor {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let file: String
    private let origin: Int
    private(set) var position = 0
    private var unescaped: [UInt8] = []

    /// - Parameter origin: the offset of `bytes` in the file, for errors.
    init(_ bytes: UnsafeRawBufferPointer, file: String, origin: Int) {
        self.bytes = bytes.bindMemory(to: UInt8.self)
        self.file = file
        self.origin = origin
    }

    func error(_ reason: String, at position: Int? = nil) -> FormatError {
        FormatError(file: file, location: .offset(UInt64(origin + (position ?? self.position))), reason: reason)
    }

    /// Returns the next byte that is no white space, without consuming it.
    @inline(__always)
    mutating func peek() throws(FormatError) -> UInt8 {
        while position < bytes.count {
            let byte = bytes[position]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
            position += 1
        }
        throw error("the JSON document ends too early")
    }

    @inline(__always)
    mutating func expect(_ mark: Unicode.Scalar) throws(FormatError) {
        guard try peek() == UInt8(ascii: mark) else { throw error("expected '\(mark)'") }
        position += 1
    }

    /// Consumes a mark if it is next.
    @inline(__always)
    mutating func skip(_ mark: Unicode.Scalar) throws(FormatError) -> Bool {
        guard try peek() == UInt8(ascii: mark) else { return false }
        position += 1
        return true
    }

    func finish() throws(FormatError) {
        var rest = self
        guard (try? rest.peek()) == nil else { throw rest.error("expected the end of the value") }
    }

    /// Reads the elements of an array, or the members of an object after their keys; `body` has to read each.
    @inline(__always)
    mutating func list(
        _ open: Unicode.Scalar, _ close: Unicode.Scalar, _ body: (inout JSONCursor) throws -> Void
    ) throws {
        try expect(open)
        if try skip(close) { return }
        repeat { try body(&self) } while try skip(",")
        try expect(close)
    }

    /// Reads a string, and calls `body` with its UTF-8 without escapes.
    @inline(__always)
    mutating func string<Result>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) throws -> Result {
        try expect("\"")
        let start = position
        var index = start
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") {
                let text = UnsafeBufferPointer(rebasing: bytes[start..<index])
                position = index + 1
                return try body(text)
            }
            if byte == UInt8(ascii: "\\") { break }
            if byte < 0x20 { throw error("a control character in a string has to be escaped", at: index) }
            index += byte < 0x80 ? 1 : try sequence(index)
        }
        position = index
        // A string with escapes is rare: its bytes are collected.
        var text = Array(bytes[start..<position])
        try unescape(&text, start)
        return try text.withUnsafeBufferPointer { text in
            try check(text, start)
            return try body(text)
        }
    }

    /// Returns the length of a sequence of several bytes.
    @inline(__always)
    private func sequence(_ index: Int) throws(FormatError) -> Int {
        if (0xC2...0xDF).contains(bytes[index]), index + 1 < bytes.count, UTF8Text.continues(bytes[index + 1]) {
            return 2
        }
        let (length, isValid) = UTF8Text.sequence(bytes, index)
        guard isValid else { throw error("a string is not valid UTF-8", at: index) }
        return length
    }

    private func check(_ text: UnsafeBufferPointer<UInt8>, _ start: Int) throws(FormatError) {
        guard UTF8Text.validPrefix(text) == text.count else { throw error("a string is not valid UTF-8", at: start) }
    }

    private mutating func unescape(_ text: inout [UInt8], _ start: Int) throws(FormatError) {
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return
            case UInt8(ascii: "\\"): try escape(&text)
            case 0..<0x20: throw error("a control character in a string has to be escaped", at: position - 1)
            default: text.append(byte)
            }
        }
        throw error("a string has no closing quote", at: start)
    }

    private mutating func escape(_ text: inout [UInt8]) throws(FormatError) {
        let start = position - 1
        guard position < bytes.count else { throw error("a string has no closing quote", at: start) }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            var scalar = try fourDigits(start)
            if (0xD800..<0xDC00).contains(scalar) {
                guard position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
                    bytes[position + 1] == UInt8(ascii: "u")
                else { throw error("an incomplete surrogate pair in a string", at: start) }
                position += 2
                let low = try fourDigits(start)
                guard (0xDC00..<0xE000).contains(low) else {
                    throw error("an incomplete surrogate pair in a string", at: start)
                }
                scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
            } else if (0xDC00..<0xE000).contains(scalar) {
                throw error("an incomplete surrogate pair in a string", at: start)
            }
            UTF8Text.append(scalar, to: &text)
        default: throw error("unknown escape in a string", at: start)
        }
    }

    private mutating func fourDigits(_ start: Int) throws(FormatError) -> UInt32 {
        guard position + 4 <= bytes.count else { throw error("\\u needs four hexadecimal digits", at: start) }
        var value: UInt32 = 0
        for _ in 0..<4 {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt32(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt32(byte - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt32(byte - UInt8(ascii: "A") + 10)
            default: throw error("\\u needs four hexadecimal digits", at: start)
            }
            position += 1
        }
        return value
    }

    /// Reads a token's number: from 0, below 2^31.
    @inline(__always)
    mutating func tokenID() throws(FormatError) -> TokenID {
        _ = try peek()
        let start = position
        var value = 0
        while position < bytes.count, bytes[position] &- 0x30 < 10 {
            value = value * 10 + Int(bytes[position] - 0x30)
            guard value <= Int(TokenID.max) else { throw error("a token's number is too large", at: start) }
            position += 1
        }
        guard position > start else { throw error("expected a token's number") }
        return TokenID(value)
    }

    /// Reads a number as `tokenizers` does: its digits as an integer, which is divided by a power of 10. That rounds twice, and scores that
    /// are nearly equal are compared.
    mutating func number() throws(FormatError) -> Double {
        _ = try peek()
        let start = position
        let isNegative = bytes[position] == UInt8(ascii: "-")
        if isNegative { position += 1 }
        var (digits, exponent): (UInt64, Int) = (0, 0)
        var (count, isFull, hasPoint) = (0, false, false)
        while position < bytes.count {
            let byte = bytes[position]
            if byte &- 0x30 < 10 {
                let (product, overflow) = digits.multipliedReportingOverflow(by: 10)
                let (sum, carry) = product.addingReportingOverflow(UInt64(byte - 0x30))
                if isFull || overflow || carry {
                    // Further digits do not count.
                    isFull = true
                    if !hasPoint { exponent += 1 }
                } else {
                    digits = sum
                    if hasPoint { exponent -= 1 }
                }
                count += 1
            } else if byte == UInt8(ascii: "."), !hasPoint {
                hasPoint = true
            } else {
                break
            }
            position += 1
        }
        guard count > 0 else { throw error("expected a number", at: start) }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") { exponent += try self.exponent(start) }
        var value = Double(digits)
        while exponent < 0 {
            let step = min(-exponent, Self.powers.count - 1)
            value /= Self.powers[step]
            exponent = value == 0 ? 0 : exponent + step
        }
        if exponent > 0 { value *= exponent < Self.powers.count ? Self.powers[exponent] : .infinity }
        guard value.isFinite else { throw error("a number is too large", at: start) }
        return isNegative ? -value : value
    }

    private mutating func exponent(_ start: Int) throws(FormatError) -> Int {
        position += 1
        var isNegative = false
        if position < bytes.count, bytes[position] == UInt8(ascii: "-") || bytes[position] == UInt8(ascii: "+") {
            isNegative = bytes[position] == UInt8(ascii: "-")
            position += 1
        }
        var (value, count) = (0, 0)
        while position < bytes.count, bytes[position] &- 0x30 < 10 {
            value = min(value * 10 + Int(bytes[position] - 0x30), 1_000_000)
            count += 1
            position += 1
        }
        guard count > 0 else { throw error("a number has no digit in its exponent", at: start) }
        return isNegative ? -value : value
    }

    private static let powers: [Double] = (0...308).map { Double("1e\($0)")! }

    /// Skips a value, and returns its range. What is in it is not checked.
    mutating func skipValue() throws(FormatError) -> Range<Int> {
        let first = try peek()
        let start = position
        guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else {
            if first == UInt8(ascii: "\"") {
                try skipString()
            } else {
                while position < bytes.count, !Self.endsScalar(bytes[position]) { position += 1 }
                guard position > start else { throw error("expected a JSON value") }
            }
            return start..<position
        }
        let end = try endOfNested(start)
        position = end
        return start..<end
    }

    private func endOfNested(_ start: Int) throws(FormatError) -> Int {
        var (depth, index) = (0, start)
        let count = bytes.count
        while index < count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                index += 1
                while index < count, bytes[index] != UInt8(ascii: "\"") {
                    index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
                }
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { return index + 1 }
            default: break
            }
            index += 1
        }
        throw error("the JSON document ends in a value", at: start)
    }

    /// Returns the bytes of a range, such as that of a skipped value.
    func bytes(of range: Range<Int>) -> [UInt8] { Array(bytes[range]) }

    private static func endsScalar(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), 0x20, 0x0A, 0x0D, 0x09: true
        default: false
        }
    }

    private mutating func skipString() throws(FormatError) {
        let start = position
        position += 1
        while position < bytes.count {
            let byte = bytes[position]
            position += byte == UInt8(ascii: "\\") ? 2 : 1
            if byte == UInt8(ascii: "\"") { return }
        }
        throw error("a string has no closing quote", at: start)
    }
}
