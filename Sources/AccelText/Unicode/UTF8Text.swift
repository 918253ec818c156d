/// Reading and writing of UTF-8 bytes.
enum UTF8Text {
    /// U+FFFD, which stands for what is no UTF-8.
    static let replacement: [UInt8] = [0xEF, 0xBF, 0xBD]

    /// Returns the scalar at `index` and its length in bytes. The bytes must be valid UTF-8, and `index` the start of a scalar.
    @inline(__always)
    static func scalar(_ bytes: UnsafeBufferPointer<UInt8>, _ index: Int) -> (value: UInt32, length: Int) {
        let first = UInt32(bytes[index])
        if first < 0x80 { return (first, 1) }
        let second = UInt32(bytes[index + 1] & 0x3F)
        if first < 0xE0 { return ((first & 0x1F) << 6 | second, 2) }
        let third = UInt32(bytes[index + 2] & 0x3F)
        if first < 0xF0 { return ((first & 0x0F) << 12 | second << 6 | third, 3) }
        return ((first & 0x07) << 18 | second << 12 | third << 6 | UInt32(bytes[index + 3] & 0x3F), 4)
    }

    /// The length in bytes of the scalar that begins with this byte.
    @inline(__always)
    static func length(_ first: UInt8) -> Int {
        first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    }

    /// The byte continues a scalar.
    @inline(__always)
    static func continues(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }

    /// The length in UTF-8 of a scalar.
    @inline(__always)
    static func length(of scalar: UInt32) -> Int {
        scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4
    }

    @inline(__always)
    static func append(_ scalar: UInt32, to bytes: inout [UInt8]) {
        if scalar < 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: scalar))
        } else if scalar < 0x800 {
            bytes.append(UInt8(truncatingIfNeeded: 0xC0 | scalar >> 6))
            bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F))
        } else if scalar < 0x10000 {
            bytes.append(UInt8(truncatingIfNeeded: 0xE0 | scalar >> 12))
            bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar >> 6 & 0x3F))
            bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F))
        } else {
            bytes.append(UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18))
            bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar >> 12 & 0x3F))
            bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar >> 6 & 0x3F))
            bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F))
        }
    }

    /// Returns the number of valid bytes at the start.
    static func validPrefix(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        let raw = UnsafeRawBufferPointer(bytes)
        var index = 0
        while index < bytes.count {
            if index + 8 <= bytes.count,
                raw.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
            {
                index += 8
                continue
            }
            if bytes[index] < 0x80 {
                index += 1
                continue
            }
            let (length, isValid) = sequence(bytes, index)
            guard isValid else { return index }
            index += length
        }
        return index
    }

    /// Returns the length of the sequence that starts with a byte of 0x80 or more. For an invalid one: that of its longest part that could
    /// begin a scalar, at least 1, which is what Python and the Encoding Standard replace by one U+FFFD.
    static func sequence(_ bytes: UnsafeBufferPointer<UInt8>, _ index: Int) -> (length: Int, isValid: Bool) {
        let first = bytes[index]
        guard (0xC2...0xF4).contains(first) else { return (1, false) }
        let length = length(first)
        for offset in 1..<length {
            guard index + offset < bytes.count else { return (offset, false) }
            let byte = bytes[index + offset]
            var range: ClosedRange<UInt8> = 0x80...0xBF
            if offset == 1 {
                switch first {
                case 0xE0: range = 0xA0...0xBF
                case 0xED: range = 0x80...0x9F
                case 0xF0: range = 0x90...0xBF
                case 0xF4: range = 0x80...0x8F
                default: break
                }
            }
            guard range.contains(byte) else { return (offset, false) }
        }
        return (length, true)
    }

    /// Appends text in which U+FFFD stands for each invalid sequence.
    static func appendRepaired(_ bytes: UnsafeBufferPointer<UInt8>, to text: inout [UInt8]) {
        var rest = bytes
        while !rest.isEmpty {
            let valid = validPrefix(rest)
            text.append(contentsOf: UnsafeBufferPointer(rebasing: rest[..<valid]))
            guard valid < rest.count else { return }
            text.append(contentsOf: replacement)
            rest = UnsafeBufferPointer(rebasing: rest[(valid + sequence(rest, valid).length)...])
        }
    }
}

extension Array where Element == UInt8 {
    /// The scalars of valid UTF-8.
    var scalars: [UInt32] {
        withUnsafeBufferPointer { bytes in
            var scalars: [UInt32] = []
            var index = 0
            while index < bytes.count {
                let (value, length) = UTF8Text.scalar(bytes, index)
                scalars.append(value)
                index += length
            }
            return scalars
        }
    }
}
