extension JSON {
    /// Limits of a document; beyond them it is refused.
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
            let value = try scanner.value()
            try scanner.finish()
            return value
        }
    }

    /// Maps and parses a file.
    public static func read(_ path: String, limits: Limits = Limits()) throws -> JSON {
        try parse(MappedFile(path).bytes, file: path, limits: limits)
    }
}
