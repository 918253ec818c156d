extension ByteWriter {
    /// The bytes written so far.
    public var view: ByteView { ByteView(bytes) }

    /// Appends an unsigned LEB128 number in its shortest form: 7 bits per byte, low bits first.
    public mutating func variable(_ number: UInt64) {
        var rest = number
        while rest > 0x7F {
            append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    /// Appends a signed number in zigzag encoding: 0, -1, 1, -2, ... become 0, 1, 2, 3, ...
    public mutating func zigzag(_ number: Int64) {
        variable(UInt64(bitPattern: (number << 1) ^ (number >> 63)))
    }

    /// Appends the length in bytes as a `variable`, then the UTF-8.
    public mutating func string(_ text: String) {
        variable(UInt64(text.utf8.count))
        append(text)
    }
}
