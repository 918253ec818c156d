/// A strict streaming reader of JSON (RFC 8259). `JSON.parse` builds a tree with it; readers of large documents take
/// values as they come.
///
/// Every method ends after the text that it read, or throws a `FormatError` with the offset in the file, or with the line of a
/// document of several lines.
package struct JSONScanner {
    let bytes: UnsafeRawBufferPointer
    /// The offset of the next byte.
    package internal(set) var position = 0
    private let file: String
    private let origin: Int
    private let limits: JSON.Limits
    private var depth = 0
    private var values = 0

    /// - Parameter bytes: have to stay valid while the scanner is in use.
    /// - Parameter origin: the offset of `bytes` in `file`.
    package init(
        _ bytes: UnsafeRawBufferPointer, file: String, origin: Int = 0, limits: JSON.Limits = JSON.Limits()
    ) throws(FormatError) {
        self.bytes = bytes
        self.file = file
        self.origin = origin
        self.limits = limits
        if bytes.count > limits.bytes {
            throw error("the JSON document has \(bytes.count) bytes; at most \(limits.bytes) are read", at: 0)
        }
    }

    package func error(_ reason: String, at position: Int? = nil) -> FormatError {
        FormatError(file: file, location: location(of: position ?? self.position), reason: reason)
    }

    /// Documents of several lines are what people write, and are found by the line.
    private func location(of position: Int) -> FormatError.Location {
        let before = bytes.prefix(position)
        guard origin == 0, let lineEnd = before.lastIndex(of: UInt8(ascii: "\n")) else {
            return .offset(UInt64(origin + position))
        }
        let lines = before.reduce(into: 1) { lines, byte in lines += byte == UInt8(ascii: "\n") ? 1 : 0 }
        return .line(lines, column: position - lineEnd)
    }

    /// Skips white space, and returns the next byte without consuming it.
    package mutating func peek() throws(FormatError) -> UInt8 {
        skipSpace()
        guard position < bytes.count else { throw error("the JSON document ends too early") }
        return bytes[position]
    }

    mutating func skipSpace() {
        while position < bytes.count {
            let byte = bytes[position]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            position += 1
        }
    }

    /// Checks that only white space follows.
    package mutating func finish() throws(FormatError) {
        skipSpace()
        if position < bytes.count { throw error("expected the end of the JSON document, found \(found())") }
    }

    /// Reads an object; `body` has to read the value of each member.
    package mutating func object(
        _ body: (inout JSONScanner, _ key: String, _ keyPosition: Int) throws(FormatError) -> Void
    ) throws(FormatError) {
        try open("{", "an object")
        var keys = KeySet()
        while try next(before: "}", first: keys.isEmpty) {
            _ = try peek()
            let start = position
            let key = try string("a member's name")
            guard keys.insert(key) else { throw error("the name \(quoted(key)) occurs twice in one object", at: start) }
            try skip(":", "':' after a member's name")
            try body(&self, key, start)
        }
        depth -= 1
    }

    /// Reads an array; `body` has to read each element.
    package mutating func array(
        _ body: (inout JSONScanner) throws(FormatError) -> Void
    ) throws(FormatError) {
        try open("[", "an array")
        var first = true
        while try next(before: "]", first: first) {
            first = false
            try body(&self)
        }
        depth -= 1
    }

    /// Reads an integer that fits in 64 bits.
    package mutating func integer() throws(FormatError) -> Int64 {
        _ = try peek()
        let start = position
        guard case .integer(let value) = try number() else {
            throw error("expected an integer that fits in 64 bits", at: start)
        }
        return value
    }

    /// Reads any value.
    package mutating func value() throws(FormatError) -> JSON {
        switch try peek() {
        case UInt8(ascii: "{"):
            var members: [JSON.Member] = []
            try object { (scanner, key, _) throws(FormatError) in
                members.append(JSON.Member(key, try scanner.value()))
            }
            return .object(members)
        case UInt8(ascii: "["):
            var elements: [JSON] = []
            try array { (scanner) throws(FormatError) in elements.append(try scanner.value()) }
            return .array(elements)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: return try number()
        }
    }

    private mutating func literal(_ text: StaticString, _ value: JSON) throws(FormatError) -> JSON {
        try count()
        let end = position + text.utf8CodeUnitCount
        let expected = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard end <= bytes.count, bytes[position..<end].elementsEqual(expected) else {
            throw error("expected a JSON value, found \(found())")
        }
        position = end
        return value
    }

    private mutating func open(_ bracket: Unicode.Scalar, _ wanted: String) throws(FormatError) {
        guard try peek() == UInt8(ascii: bracket) else { throw error("expected \(wanted), found \(found())") }
        try count()
        depth += 1
        guard depth <= limits.depth else { throw error("more than \(limits.depth) levels of nested JSON") }
        position += 1
    }

    private mutating func next(before end: Unicode.Scalar, first: Bool) throws(FormatError) -> Bool {
        let byte = try peek()
        if byte == UInt8(ascii: end) {
            position += 1
            return false
        }
        if !first {
            guard byte == UInt8(ascii: ",") else { throw error("expected ',' or '\(end)', found \(found())") }
            position += 1
        }
        return true
    }

    private mutating func skip(_ mark: Unicode.Scalar, _ wanted: String) throws(FormatError) {
        guard try peek() == UInt8(ascii: mark) else { throw error("expected \(wanted), found \(found())") }
        position += 1
    }

    /// Counts a value against the limit.
    mutating func count() throws(FormatError) {
        values += 1
        if values > limits.values { throw error("more than \(limits.values) JSON values") }
    }

    /// Returns the byte at the current position, for an error.
    func found() -> String {
        guard position < bytes.count else { return "the end of the document" }
        let byte = bytes[position]
        if byte == UInt8(ascii: "'") { return "a single quote, where JSON has double ones" }
        return (0x21...0x7E).contains(byte) ? "'\(Unicode.Scalar(byte))'" : "byte 0x" + String(byte, radix: 16)
    }
}

/// Returns a name from a file in quotes, shortened, and without control characters.
package func quoted(_ name: String) -> String {
    let shown = name.unicodeScalars.prefix(80).map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }
    var text = String.UnicodeScalarView()
    text.append(contentsOf: shown)
    return "\"\(String(text))\(name.unicodeScalars.count > 80 ? "..." : "")\""
}

/// The names in an object so far: a list while there are few, then a set.
private struct KeySet {
    private var few: [String] = []
    private var many: Set<String> = []

    var isEmpty: Bool { few.isEmpty }

    /// Adds a key. Returns false if it is already present.
    mutating func insert(_ key: String) -> Bool {
        if few.count < 8 {
            guard !few.contains(key) else { return false }
            few.append(key)
            return true
        }
        if many.isEmpty { many = Set(few) }
        return many.insert(key).inserted
    }
}
