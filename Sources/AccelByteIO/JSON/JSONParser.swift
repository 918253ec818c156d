extension JSON {
    /// What a document may cost before it is refused.
    public struct Limits: Sendable {
        public var bytes: Int
        public var depth: Int
        public var values: Int
        public init(bytes: Int = 64 << 20, depth: Int = 64, values: Int = 16_000_000) {
            self.bytes = bytes
            self.depth = depth
            self.values = values
        }
    }

    /// Strict RFC 8259: UTF-8, no duplicate keys at any level, no trailing bytes but white space.
    /// - Parameter origin: where `bytes` starts in `file`, for the offsets in errors.
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

    /// Reads a whole file.
    public static func read(_ path: String, limits: Limits = Limits()) throws -> JSON {
        try parse(MappedFile(path).bytes, file: path, limits: limits)
    }
}
