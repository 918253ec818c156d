/// Reads a Protocol Buffers message field by field. Groups, which are obsolete, are rejected.
public struct ProtobufReader: Sendable {
    /// The value of a field, by its wire type.
    public enum Value: Sendable {
        /// A variable-size integer; signed ones are sign-extended to 64 bits.
        case integer(UInt64)
        /// Eight bytes: an integer or a float64.
        case fixed64(UInt64)
        /// Four bytes: an integer or a float32.
        case fixed32(UInt32)
        /// A string, bytes, a message, or packed numbers.
        case bytes(ByteView)
    }
    /// A field of a message.
    public struct Field: Sendable {
        /// The field number.
        public let number: Int
        /// The value.
        public let value: Value
        fileprivate let reader: ByteReader
        fileprivate let file: String
        /// The offset of the value in the file.
        fileprivate let origin: Int
    }

    private var reader: ByteReader
    private let file: String
    private let origin: Int

    /// Creates a reader of a message.
    /// - Parameter origin: the offset of `view` in `file`, for errors.
    public init(_ view: ByteView, file: String, origin: Int = 0) {
        reader = ByteReader(view, file: file, origin: origin)
        self.file = file
        self.origin = origin
    }

    /// Returns the next field; nil at the end.
    /// - Throws: `FormatError` with the offset.
    public mutating func next() throws(FormatError) -> Field? {
        guard !reader.isAtEnd else { return nil }
        let start = reader
        let tag = try reader.variable("field")
        let number = Int(clamping: tag >> 3)
        guard (1...0x1FFF_FFFF).contains(number) else { throw start.error("\(number) is not a field number") }
        let value: Value
        var valueOrigin = origin
        switch tag & 7 {
        case 0: value = .integer(try reader.variable("value of field \(number)"))
        case 1: value = .fixed64(try reader.integer())
        case 2:
            let count = try reader.count("length of field \(number)")
            valueOrigin += reader.position
            value = .bytes(try reader.bytes(count))
        case 5: value = .fixed32(try reader.integer())
        case let type: throw start.error("field \(number) has the wire type \(type), which no message here has")
        }
        return Field(number: number, value: value, reader: start, file: file, origin: valueOrigin)
    }

    /// Calls `body` for each remaining field, in order.
    public mutating func forEach(_ body: (Field) throws -> Void) throws {
        while let field = try next() { try body(field) }
    }
}

extension ProtobufReader.Field {
    /// Returns an error at this field.
    public func error(_ reason: String) -> FormatError { reader.error("field \(number): \(reason)") }

    /// Returns the value as an integer.
    public func integer() throws(FormatError) -> Int64 {
        guard case .integer(let integer) = value else { throw error("expected an integer") }
        return Int64(bitPattern: integer)
    }

    /// Returns the value as bytes.
    public func bytes() throws(FormatError) -> ByteView {
        guard case .bytes(let bytes) = value else { throw error("expected bytes") }
        return bytes
    }

    /// Returns the value as a UTF-8 string.
    public func string() throws(FormatError) -> String {
        let bytes = try bytes()
        guard let text = bytes.withBytes({ String(validating: $0, as: UTF8.self) }) else {
            throw error("is not UTF-8")
        }
        return text
    }

    /// Returns a reader of the value as a message.
    public func message() throws(FormatError) -> ProtobufReader {
        ProtobufReader(try bytes(), file: file, origin: origin)
    }

    /// Returns the integers of a repeated field: a single one, or all of a packed field.
    public func integers() throws(FormatError) -> [Int64] {
        guard case .bytes(let bytes) = value else { return [try integer()] }
        var packed = ByteReader(bytes, file: file, origin: origin)
        var integers: [Int64] = []
        while !packed.isAtEnd { integers.append(Int64(bitPattern: try packed.variable("element"))) }
        return integers
    }

    /// Returns the float32 numbers of a repeated field: a single one, or all of a packed field.
    public func floats() throws(FormatError) -> [Float] {
        if case .fixed32(let bits) = value { return [Float(bitPattern: bits)] }
        return try fixed(UInt32.self).map(Float.init(bitPattern:))
    }

    /// Returns the float64 numbers of a repeated field: a single one, or all of a packed field.
    public func doubles() throws(FormatError) -> [Double] {
        if case .fixed64(let bits) = value { return [Double(bitPattern: bits)] }
        return try fixed(UInt64.self).map(Double.init(bitPattern:))
    }

    private func fixed<Bits: FixedWidthInteger & BitwiseCopyable>(_ type: Bits.Type) throws(FormatError) -> [Bits] {
        let bytes = try bytes()
        let width = MemoryLayout<Bits>.size
        guard bytes.count % width == 0 else { throw error("\(bytes.count) bytes are not numbers of \(width) bytes") }
        return bytes.withBytes { bytes in
            (0..<bytes.count / width).map {
                Bits(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * width, as: Bits.self))
            }
        }
    }
}
