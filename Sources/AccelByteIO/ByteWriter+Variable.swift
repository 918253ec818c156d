extension ByteWriter {
    public var view: ByteView { ByteView(bytes) }

    /// Unsigned LEB128 in its shortest form: 7 bits a byte, low bits first.
    public mutating func variable(_ number: UInt64) {
        var rest = number
        while rest > 0x7F {
            append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    /// A signed number as an unsigned one: 0, -1, 1, -2, ... become 0, 1, 2, 3, ...
    public mutating func zigzag(_ number: Int64) {
        variable(UInt64(bitPattern: (number << 1) ^ (number >> 63)))
    }

    /// The length in bytes as `variable`, then the UTF-8.
    public mutating func string(_ text: String) {
        variable(UInt64(text.utf8.count))
        append(text)
    }
}
