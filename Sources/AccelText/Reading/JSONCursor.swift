import AccelByteIO

/// Reads the large lists of a JSON document in place: vocabularies and merges, without a value for each word.
struct JSONCursor {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let file: String
    private let origin: Int
    private(set) var position = 0

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
            // An indented document has many spaces.
            while let eight = eightBytes(position), eight == 0x2020_2020_2020_2020 { position += 8 }
        }
        throw error("the JSON document ends too early")
    }

    /// The next eight bytes, the first one lowest; nil if there are fewer.
    @inline(__always)
    private func eightBytes(_ index: Int) -> UInt64? {
        guard index + 8 <= bytes.count else { return nil }
        return UInt64(
            littleEndian: UnsafeRawPointer(bytes.baseAddress! + index).loadUnaligned(as: UInt64.self))
    }

    /// Returns the first index from `index` on that has a quote, a backslash, a control character, or a byte of 0x80 or more.
    @inline(__always)
    private func endOfPlainText(_ index: Int) -> Int {
        var index = index
        let (ones, high) = (0x0101_0101_0101_0101 as UInt64, 0x8080_8080_8080_8080 as UInt64)
        while let eight = eightBytes(index) {
            // The lowest high bit that is set is at the first such byte; those above may be wrong.
            let (quote, backslash) = (eight ^ (ones &* 0x22), eight ^ (ones &* 0x5C))
            let quotes = (quote &- ones) & ~quote
            let backslashes = (backslash &- ones) & ~backslash
            let controls = (eight &- (ones &* 0x20)) & ~eight
            let found = (quotes | backslashes | controls | eight) & high
            if found != 0 { return index + found.trailingZeroBitCount >> 3 }
            index += 8
        }
        while index < bytes.count {
            let byte = bytes[index]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte >= 0x80 { break }
            index += 1
        }
        return index
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

    /// Reads an object, and returns where its values lie. No name may occur twice.
    /// - Parameter read: gets a name and what was read before. It either reads the value and returns true, or returns false.
    mutating func members(
        _ read: (String, [String: Range<Int>], inout JSONCursor) throws -> Bool
    ) throws -> [String: Range<Int>] {
        var members: [String: Range<Int>] = [:]
        try list("{", "}") { cursor in
            let start = cursor.position
            let key = try cursor.string { String(decoding: $0, as: UTF8.self) }
            try cursor.expect(":")
            guard members[key] == nil else {
                throw cursor.error("the name \(quoted(key)) occurs twice in one object", at: start)
            }
            _ = try cursor.peek()
            let value = cursor.position
            members[key] = try read(key, members, &cursor) ? value..<cursor.position : cursor.skipValue()
        }
        return members
    }

    /// Reads a string, and calls `body` with its UTF-8 without escapes.
    @inline(__always)
    mutating func string<Result>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) throws -> Result {
        try expect("\"")
        let start = position
        var index = start
        while true {
            index = endOfPlainText(index)
            guard index < bytes.count else { break }
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") {
                let text = UnsafeBufferPointer(rebasing: bytes[start..<index])
                position = index + 1
                return try body(text)
            }
            if byte == UInt8(ascii: "\\") { break }
            if byte < 0x20 { throw error("a control character in a string has to be escaped", at: index) }
            index += try sequence(index)
        }
        // A string with escapes is rare: its bytes are collected.
        let text: [UInt8]
        do throws(JSONUnescaper.Problem) {
            var unescaper = JSONUnescaper(bytes, index)
            text = try unescaper.rest(after: start)
            position = unescaper.position
        } catch let problem {
            throw error(problem.reason, at: problem.position)
        }
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

    /// Reads a number as `tokenizers` does.
    mutating func number() throws(FormatError) -> Double {
        _ = try peek()
        let start = position
        do throws(DecimalReader.Problem) {
            var reader = DecimalReader(bytes, position)
            let value = try reader.read()
            position = reader.position
            return value
        } catch let problem {
            throw error(problem.reason, at: start)
        }
    }

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
