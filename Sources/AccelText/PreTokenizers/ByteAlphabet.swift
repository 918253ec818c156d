/// The printable scalar that stands for each byte in byte-level vocabularies, as GPT-2 defined it.
enum ByteAlphabet {
    private static let scalars: [UInt32] = {
        var scalars = [UInt32](repeating: 0, count: 256)
        var next: UInt32 = 256
        for byte in 0..<256 {
            switch byte {
            case 0x21...0x7E, 0xA1...0xAC, 0xAE...0xFF: scalars[byte] = UInt32(byte)
            default:
                scalars[byte] = next
                next += 1
            }
        }
        return scalars
    }()

    /// The byte of each scalar below 324; -1 for none.
    private static let bytes: [Int16] = {
        var bytes = [Int16](repeating: -1, count: 324)
        for (byte, scalar) in scalars.enumerated() { bytes[Int(scalar)] = Int16(byte) }
        return bytes
    }()

    static func scalar(_ byte: UInt8) -> UInt32 { scalars[Int(byte)] }

    /// Returns the byte that a scalar stands for; nil for none.
    static func byte(_ scalar: UInt32) -> UInt8? {
        guard scalar < 324, bytes[Int(scalar)] >= 0 else { return nil }
        return UInt8(bytes[Int(scalar)])
    }

    /// Calls `body` with the bytes of a scalar in UTF-8.
    static func bytes(of scalar: UInt32, _ body: (UInt8) -> Void) {
        var bytes: [UInt8] = []
        UTF8Text.append(scalar, to: &bytes)
        bytes.forEach(body)
    }

    /// Appends the scalars of bytes, in UTF-8.
    static func append(_ bytes: UnsafeBufferPointer<UInt8>, to text: inout [UInt8]) {
        for byte in bytes {
            let scalar = scalars[Int(byte)]
            if scalar < 0x80 {
                text.append(UInt8(scalar))
            } else {
                text.append(UInt8(0xC0 | scalar >> 6))
                text.append(UInt8(0x80 | scalar & 0x3F))
            }
        }
    }

    /// Appends the bytes that a text of the alphabet stands for. Returns false, and appends nothing, if it has another scalar.
    static func appendBytes(of text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) -> Bool {
        let count = bytes.count
        var index = 0
        while index < text.count {
            let (scalar, length) = UTF8Text.scalar(text, index)
            guard let byte = byte(scalar) else {
                bytes.removeLast(bytes.count - count)
                return false
            }
            bytes.append(byte)
            index += length
        }
        return true
    }
}
