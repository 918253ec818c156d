import AccelByteIO

/// The bits of a scan. A byte FF is followed by a byte 0, which is none of them; another byte there is a marker, which ends the bits.
struct EntropyReader {
    private let bytes: UnsafeRawBufferPointer
    private let file: String
    /// The offset of the next byte that is not in `buffer`.
    private(set) var position: Int
    /// The next bits, from the uppermost on, and their number; zeros follow.
    private var buffer: UInt64 = 0
    private var count = 0

    init(_ bytes: UnsafeRawBufferPointer, file: String, position: Int) {
        (self.bytes, self.file, self.position) = (bytes, file, position)
    }

    func error(_ reason: String) -> FormatError {
        FormatError(file: file, location: .offset(UInt64(position)), reason: reason)
    }

    private mutating func fill() {
        while count <= 56, position < bytes.count {
            let byte = bytes[position]
            if byte == 0xFF {
                guard position + 1 < bytes.count, bytes[position + 1] == 0 else { return }
                position += 1
            }
            position += 1
            buffer |= UInt64(byte) << UInt64(56 - count)
            count += 8
        }
    }

    private mutating func skip(_ length: Int) throws(FormatError) {
        guard length <= count else { throw error("the pixels end too early") }
        buffer <<= UInt64(length)
        count -= length
    }

    /// Reads up to 16 bits as a number.
    @inline(__always)
    mutating func bits(_ length: Int) throws(FormatError) -> Int {
        guard length > 0 else { return 0 }
        if count < length { fill() }
        let bits = Int(buffer >> UInt64(64 - length))
        try skip(length)
        return bits
    }

    /// Reads a number of `length` bits, up to 16, of which the lower half of the range stands for negative ones. (T.81, F.2.2.1.)
    @inline(__always)
    mutating func signed(_ length: Int) throws(FormatError) -> Int {
        let bits = try bits(length)
        return length > 0 && bits < 1 << (length - 1) ? bits - (1 << length) + 1 : bits
    }

    /// Reads the symbol of a code.
    @inline(__always)
    mutating func symbol(_ table: HuffmanTable) throws(FormatError) -> Int {
        if count < 16 { fill() }
        let found = Int(table.lookUp[Int(buffer >> UInt64(64 - HuffmanTable.lookUpBits))])
        if found > 0 {
            try skip(found >> 8)
            return found & 0xFF
        }
        guard let (length, symbol) = table.long(Int(buffer >> 48)) else {
            throw error(count < 16 ? "the pixels end too early" : "the bits are no code of the Huffman table")
        }
        try skip(length)
        return Int(symbol)
    }

    /// Reads the marker of a restart, which begins at a whole byte. (T.81, F.2.2.5.)
    mutating func restart(_ number: Int) throws(FormatError) {
        guard count < 8 else { throw error("a restart marker is expected here") }
        (buffer, count) = (0, 0)
        while position + 1 < bytes.count, bytes[position] == 0xFF, bytes[position + 1] == 0xFF { position += 1 }
        guard position + 1 < bytes.count, bytes[position] == 0xFF, bytes[position + 1] == 0xD0 + UInt8(number % 8)
        else { throw error("the restart marker \(number % 8) is expected here") }
        position += 2
    }
}
