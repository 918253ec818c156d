/// Encodes a Protocol Buffers message field by field, in the order of the calls.
public struct ProtobufWriter: Sendable {
    private var writer = ByteWriter()

    /// Creates an empty message.
    public init() {}

    /// The encoded message.
    public var view: ByteView { writer.view }
    /// The encoded message.
    public var bytes: [UInt8] { writer.bytes }

    /// Appends an `int32`, `int64`, `uint64`, `bool` or enumeration; 0 is omitted, as in proto3.
    public mutating func integer(_ field: Int, _ value: Int64) {
        guard value != 0 else { return }
        writer.variable(UInt64(field) << 3)
        writer.variable(UInt64(bitPattern: value))
    }

    /// Appends a `bytes` field, or another field with a length; an empty one is omitted.
    public mutating func bytes(_ field: Int, _ value: some Collection<UInt8>) {
        guard !value.isEmpty else { return }
        writer.variable(UInt64(field) << 3 | 2)
        writer.variable(UInt64(value.count))
        writer.append(value)
    }

    /// Appends a `string` field; an empty one is omitted.
    public mutating func string(_ field: Int, _ value: String) { bytes(field, Array(value.utf8)) }

    /// Appends one string of a repeated field, even if it is empty.
    public mutating func element(_ field: Int, _ value: String) {
        writer.variable(UInt64(field) << 3 | 2)
        writer.variable(UInt64(value.utf8.count))
        writer.append(value)
    }

    /// Appends a packed repeated field of fixed-size numbers.
    public mutating func packed(_ field: Int, _ values: [some FixedWidthInteger]) {
        var inner = ByteWriter()
        for value in values { inner.append(value) }
        bytes(field, inner.bytes)
    }

    /// Appends a packed repeated field of variable-size integers (`int32`, `int64`, `bool`), sign-extended.
    public mutating func packed(_ field: Int, variable values: [UInt64]) {
        var inner = ByteWriter()
        for value in values { inner.variable(value) }
        bytes(field, inner.bytes)
    }

    /// Appends a message field, even if it is empty.
    public mutating func message(_ field: Int, _ body: (inout ProtobufWriter) -> Void) {
        var inner = ProtobufWriter()
        body(&inner)
        writer.variable(UInt64(field) << 3 | 2)
        writer.variable(UInt64(inner.writer.count))
        writer.append(inner.writer.bytes)
    }
}
