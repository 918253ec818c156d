/// Encodes a Protocol Buffers message field by field. Fields come out in the order of the calls.
public struct ProtobufWriter: Sendable {
    private var writer = ByteWriter()

    public init() {}

    public var view: ByteView { writer.view }
    public var bytes: [UInt8] { writer.bytes }

    /// `int32`, `int64`, `uint64`, `bool`, enumerations; 0 is left out, as proto3 does.
    public mutating func integer(_ field: Int, _ value: Int64) {
        guard value != 0 else { return }
        writer.variable(UInt64(field) << 3)
        writer.variable(UInt64(bitPattern: value))
    }

    /// `bytes`, and everything else that has a length; left out when empty.
    public mutating func bytes(_ field: Int, _ value: some Collection<UInt8>) {
        guard !value.isEmpty else { return }
        writer.variable(UInt64(field) << 3 | 2)
        writer.variable(UInt64(value.count))
        writer.append(value)
    }

    public mutating func string(_ field: Int, _ value: String) { bytes(field, Array(value.utf8)) }

    /// One string of a repeated field; written also when it is empty.
    public mutating func element(_ field: Int, _ value: String) {
        writer.variable(UInt64(field) << 3 | 2)
        writer.variable(UInt64(value.utf8.count))
        writer.append(value)
    }

    /// A packed repeated field of fixed-size numbers.
    public mutating func packed(_ field: Int, _ values: [some FixedWidthInteger]) {
        var inner = ByteWriter()
        for value in values { inner.append(value) }
        bytes(field, inner.bytes)
    }

    /// A packed repeated field of integers of variable size (`int32`, `int64`, `bool`), negative ones sign-extended.
    public mutating func packed(_ field: Int, variable values: [UInt64]) {
        var inner = ByteWriter()
        for value in values { inner.variable(value) }
        bytes(field, inner.bytes)
    }

    /// A message in a message; written also when it is empty.
    public mutating func message(_ field: Int, _ body: (inout ProtobufWriter) -> Void) {
        var inner = ProtobufWriter()
        body(&inner)
        writer.variable(UInt64(field) << 3 | 2)
        writer.variable(UInt64(inner.writer.count))
        writer.append(inner.writer.bytes)
    }
}
