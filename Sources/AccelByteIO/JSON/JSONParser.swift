extension JSON {
    /// Limits of a document; beyond them it is rejected.
    public struct Limits: Sendable {
        /// The size of the text in bytes.
        public var bytes: Int
        /// The depth of nesting.
        public var depth: Int
        /// The number of values.
        public var values: Int
        /// Creates limits.
        public init(bytes: Int = 64 << 20, depth: Int = 64, values: Int = 16_000_000) {
            self.bytes = bytes
            self.depth = depth
            self.values = values
        }
    }

    /// Parses a document strictly by RFC 8259: UTF-8, no duplicate keys in an object, nothing but white space after the
    /// value.
    /// - Parameter origin: the offset of `bytes` in `file`, for errors.
    public static func parse(
        _ bytes: ByteView, file: String, origin: Int = 0, limits: Limits = Limits()
    ) throws(FormatError) -> JSON {
        try bytes.withBytes { (bytes) throws(FormatError) in
            var scanner = try JSONScanner(bytes, file: file, origin: origin, limits: limits)
            if let problem = problem(of: bytes) { throw scanner.error(problem, at: 0) }
            let value = try scanner.value()
            try scanner.finish()
            return value
        }
    }

    /// Returns why bytes are no document at all, as editors save some; nil if they may be one.
    private static func problem(of bytes: UnsafeRawBufferPointer) -> String? {
        if bytes.isEmpty { return "the JSON document is empty" }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            return "the text begins with a byte order mark: save it as UTF-8 without one"
        }
        if bytes.starts(with: GitPointer.start.utf8) { return GitPointer.advice }
        let isUTF16 = bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
        // Without a mark, every second byte of ASCII is zero.
        let zeros = bytes.prefix(4).map { $0 == 0 }
        if isUTF16 || zeros == [false, true, false, true] || zeros == [true, false, true, false] {
            return "this is UTF-16 text: save it as UTF-8 without a byte order mark"
        }
        let isText = bytes.first.map { (0x20..<0x7F).contains($0) || (0x09...0x0D).contains($0) } ?? true
        return isText ? nil : "expected a JSON value, found a file that is no text"
    }

    /// Maps and parses a file.
    public static func read(_ path: String, limits: Limits = Limits()) throws -> JSON {
        try parse(MappedFile(path).bytes, file: path, limits: limits)
    }
}
