import AccelByteIO

/// The numbers of MLIR's bytecode.
extension ByteWriter {
    /// Appends an unsigned number: the zeros at the low end of the first byte are the count of further bytes.
    mutating func number(_ value: UInt64) {
        let bits = UInt64.bitWidth - value.leadingZeroBitCount
        let count = max(1, (bits + 6) / 7)
        guard count <= 8 else {
            append(UInt8(0))
            return append(value)
        }
        // Eight bytes hold 56 bits, which the shift by 8 leaves in range.
        let word = value << UInt64(count) | 1 << UInt64(count - 1)
        for index in 0..<count { append(UInt8(truncatingIfNeeded: word >> UInt64(8 * index))) }
    }

    mutating func number(_ value: Int) { number(UInt64(bitPattern: Int64(value))) }

    /// Appends a signed number: those with small magnitude are short.
    mutating func signed(_ value: Int64) { number(UInt64(bitPattern: value << 1 ^ value >> 63)) }

    /// Appends a number with a bit at its low end.
    mutating func number(_ value: Int, flag: Bool) { number(value << 1 | (flag ? 1 : 0)) }

    /// Appends a section.
    mutating func section(_ id: UInt8, _ content: ByteWriter) {
        append(id)
        number(content.count)
        append(content.bytes)
    }

    /// Appends the filler of bytecode up to an alignment.
    mutating func fill(to alignment: Int, from origin: Int = 0) {
        append(repeatElement(CoreAIBytecode.filler, count: (alignment - (origin + count) % alignment) % alignment))
    }
}

/// The constants of bytecode files of Core AI.
enum CoreAIBytecode {
    static let magic: [UInt8] = [0x4D, 0x4C, 0xEF, 0x52]
    /// The version of MLIR's bytecode.
    static let version = 6
    static let producer = "MLIR22.0.0git"
    static let dialect = "aicode"
    /// The version of the dialect.
    static let dialectVersion = 2
    static let filler: UInt8 = 0xCB
    /// The alignment of resources. A larger one is rejected where the reader's buffer does not have it.
    static let alignment = 16

    /// The sections of a file.
    enum Section: UInt8, CaseIterable {
        case strings, dialects, entries, offsets, operations, resources, resourceTable, dialectVersions, properties
    }

    /// The parts that follow an operation's name, by bits of a mask.
    enum Part {
        static let results: UInt8 = 2
        static let operands: UInt8 = 4
        static let regions: UInt8 = 16
        static let properties: UInt8 = 64
    }
}
