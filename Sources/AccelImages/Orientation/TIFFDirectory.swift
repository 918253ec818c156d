/// The first directory of a TIFF file, the format of EXIF data. (TIFF revision 6.0, section 2; CIPA DC-008, 4.6.2.) Corrupt data end
/// the directory or leave an entry out, as in Pillow 13: they never make a picture unreadable.
struct TIFFDirectory {
    private let bytes: ArraySlice<UInt8>
    private let isBigEndian: Bool
    /// The offset of the directory in the bytes.
    private let start: Int

    /// The number of the entry that states the orientation.
    private static let orientation = 274
    /// The byte order and the number 42. Pillow takes its bytes in either order, and 43 of the higher byte first.
    private static let headers = ["MM\0*", "II*\0", "MM*\0", "II\0*", "MM\0+"]
    /// The bytes of a value of each type, by its number.
    private static let sizes: [Int: Int] = [
        1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8,
    ]

    /// - Returns: nil for bytes that do not begin with the header of a TIFF file of 32-bit offsets.
    init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count >= 8 else { return nil }
        guard Self.headers.contains(where: { bytes.starts(with: $0.utf8) }) else { return nil }
        isBigEndian = bytes.first == UInt8(ascii: "M")
        self.bytes = bytes
        start = Int(Self.number(bytes, at: 4, size: 4, isBigEndian))
    }

    /// An entry for the orientation.
    struct Entry {
        /// nil for an entry of another type than numbers.
        let value: Double?
    }

    /// Finds the entry of the orientation.
    /// - Returns: nil without one, and for a corrupt directory.
    func orientation() -> Entry? {
        guard start <= bytes.count - 2 else { return nil }
        var found: Set<Int> = []
        /// The bytes of values outside the directory. Together they are no more than all bytes.
        var outside = 0
        for index in 0..<Int(number(at: start, size: 2)) {
            let entry = start + 2 + 12 * index
            guard entry <= bytes.count - 12 else { return nil }
            let (tag, type) = (Int(number(at: entry, size: 2)), Int(number(at: entry + 2, size: 2)))
            guard !found.contains(tag), let unit = Self.sizes[type] else { continue }
            let size = Int(number(at: entry + 4, size: 4)) * unit
            var offset = entry + 8
            if size > 4 {
                outside += size
                guard outside <= bytes.count else { continue }
                offset = Int(number(at: offset, size: 4))
                guard offset <= bytes.count - size else { return nil }
            }
            guard size > 0 else { continue }
            if tag == Self.orientation { return Entry(value: value(of: type, at: offset)) }
            found.insert(tag)
        }
        return nil
    }

    /// Returns the first value of an entry; nil for bytes and text.
    private func value(of type: Int, at offset: Int) -> Double? {
        func number(_ size: Int, at offset: Int = offset) -> UInt64 { self.number(at: offset, size: size) }
        func signed(_ offset: Int) -> Double { Double(Int32(truncatingIfNeeded: number(4, at: offset))) }
        switch type {
        case 3: return Double(number(2))
        case 4, 13: return Double(number(4))
        case 5: return Double(number(4)) / Double(number(4, at: offset + 4))
        case 6: return Double(Int8(truncatingIfNeeded: number(1)))
        case 8: return Double(Int16(truncatingIfNeeded: number(2)))
        case 9: return signed(offset)
        case 10: return signed(offset) / signed(offset + 4)
        case 11: return Double(Float(bitPattern: UInt32(truncatingIfNeeded: number(4))))
        case 12: return Double(bitPattern: number(8))
        case 16: return Double(number(8))
        default: return nil
        }
    }

    /// - Precondition: the number lies within the bytes.
    private func number(at offset: Int, size: Int) -> UInt64 {
        Self.number(bytes, at: offset, size: size, isBigEndian)
    }

    private static func number(
        _ bytes: ArraySlice<UInt8>, at offset: Int, size: Int, _ isBigEndian: Bool
    ) -> UInt64 {
        let first = bytes.startIndex + offset
        return (0..<size).reduce(0) { $0 << 8 | UInt64(bytes[first + (isBigEndian ? $1 : size - 1 - $1)]) }
    }
}
