/// Collects little-endian binary data in memory.
public struct ByteWriter: Sendable {
    /// The bytes written so far.
    public private(set) var bytes: [UInt8] = []

    /// Creates an empty writer.
    public init() {}

    /// The number of bytes written so far.
    public var count: Int { bytes.count }

    /// Appends an integer in little-endian order.
    public mutating func append<Integer: FixedWidthInteger>(_ integer: Integer) {
        withUnsafeBytes(of: integer.littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// Appends bytes.
    public mutating func append(_ content: some Sequence<UInt8>) { bytes.append(contentsOf: content) }

    /// Appends the bytes of a view.
    public mutating func append(_ view: ByteView) { view.withBytes { bytes.append(contentsOf: $0) } }

    /// Appends the UTF-8 of `text`, without its length.
    public mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// Appends zeros up to the next multiple of `alignment`.
    public mutating func pad(to alignment: Int) {
        guard alignment > 1 else { return }
        bytes.append(contentsOf: repeatElement(0, count: (alignment - bytes.count % alignment) % alignment))
    }
}
