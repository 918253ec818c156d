import AccelByteIO

/// The reader of JPEG files of 8 bits and one, three or four components, sequential or progressive with Huffman codes. (ITU-T T.81, annexes B, F
/// and G; T.871, JFIF.)
struct JPEGReader {
    private let bytes: ByteView
    private let file: String
    private var reader: ByteReader
    private var frame: JPEGFrame?
    private var colors = JPEGColors()
    private var metadata = PictureMetadata()
    /// Quantization tables in the order of the matrix, and Huffman tables.
    private var steps = [[UInt16]?](repeating: nil, count: 4)
    private var (dcTables, acTables) = (
        [HuffmanTable?](repeating: nil, count: 4), [HuffmanTable?](repeating: nil, count: 4)
    )
    private var restartInterval = 0
    private var scans = 0

    /// The most scans: a small file may have many, and each goes over the whole picture.
    private static let mostScans = 256

    init(_ bytes: ByteView, file: String) {
        (self.bytes, self.file) = (bytes, file)
        reader = ByteReader(bytes, file: file, position: 2)
    }

    consuming func picture() throws(FormatError) -> Picture {
        while try segment() {}
        guard let frame else { throw reader.error("there is no picture before the end") }
        guard frame.components.allSatisfy({ $0.steps != nil }) else {
            throw reader.error("a component has no pixels before the end")
        }
        return colors.picture(frame).upright(from: metadata.orientation)
    }

    /// Reads the next segment.
    /// - Returns: False at the end of the picture.
    private mutating func segment() throws(FormatError) -> Bool {
        guard let marker = try marker() else { return false }
        let start = reader.position - 2
        switch marker {
        case 0xD9: return false
        case 0x01, 0xD0...0xD7: return true
        case 0xD8: throw reader.error("a second picture begins here", at: start)
        default: break
        }
        let length = Int(try reader.integer(UInt16.self).byteSwapped)
        guard length >= 2 else { throw reader.error("a segment has \(length) bytes", at: start + 2) }
        let offset = reader.position
        var content = ByteReader(try reader.bytes(length - 2), file: file, origin: offset)
        switch marker {
        case 0xC0, 0xC1, 0xC2:
            guard frame == nil else { throw reader.error("there are two frames", at: start) }
            frame = try JPEGFrame(&content, isProgressive: marker == 0xC2, fileBytes: bytes.count)
        case 0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
            let kind = marker >= 0xC9 ? "arithmetic" : marker == 0xC3 ? "lossless" : "hierarchical"
            throw reader.unsupported("\(kind) coding is not supported", at: start)
        case 0xC4: try huffmanTables(&content)
        case 0xDB: try quantizationTables(&content)
        case 0xDD: restartInterval = Int(try content.integer(UInt16.self).byteSwapped)
        case 0xDA: try scan(&content)
        case 0xE0: if content.starts(with: "JFIF\0") { colors.isJFIF = true }
        // Metadata stand before the pixels.
        case 0xE1 where scans == 0: metadata.add(segment: try content.bytes(content.remaining))
        case 0xEE where content.starts(with: "Adobe") && content.remaining >= 12:
            colors.adobeTransform = try content.bytes(12).withBytes { $0[11] }
        default: break
        }
        return true
    }

    /// Reads the next marker, after bytes that are none.
    /// - Returns: nil at the end of the file behind a whole sequential picture, which some writers do not mark.
    private mutating func marker() throws(FormatError) -> UInt8? {
        let start = reader.position
        let found: Int? = bytes.withBytes { bytes in
            var position = start
            while position + 1 < bytes.count {
                if bytes[position] == 0xFF, bytes[position + 1] != 0, bytes[position + 1] != 0xFF { return position }
                position += 1
            }
            return nil
        }
        guard let found else {
            guard scans > 0, frame?.isProgressive == false else { throw reader.error("the file ends too early") }
            return nil
        }
        reader = ByteReader(bytes, file: file, position: found + 1)
        return try reader.integer(UInt8.self)
    }

    private mutating func quantizationTables(_ content: inout ByteReader) throws(FormatError) {
        while !content.isAtEnd {
            let start = content.position
            let head = try content.integer(UInt8.self)
            guard head & 15 < 4, head >> 4 < 2 else {
                throw content.error("the quantization table has the unknown kind \(head)", at: start)
            }
            var table = [UInt16](repeating: 0, count: 64)
            for index in JPEGFrame.zigzag {
                table[index] =
                    head >> 4 == 0
                    ? UInt16(try content.integer(UInt8.self)) : try content.integer(UInt16.self).byteSwapped
            }
            steps[Int(head & 15)] = table
        }
    }

    private mutating func huffmanTables(_ content: inout ByteReader) throws(FormatError) {
        while !content.isAtEnd {
            let start = content.position
            let head = try content.integer(UInt8.self)
            guard head & 15 < 4, head >> 4 < 2 else {
                throw content.error("the Huffman table has the unknown kind \(head)", at: start)
            }
            let counts = try content.bytes(16).withBytes { Array($0) }
            let symbols = try content.bytes(counts.reduce(0) { $0 + Int($1) }).withBytes { Array($0) }
            guard symbols.count <= 256, let table = HuffmanTable(counts: counts, symbols: symbols) else {
                throw content.error("the Huffman table has more codes than bits for them", at: start)
            }
            if head >> 4 == 0 { dcTables[Int(head & 15)] = table } else { acTables[Int(head & 15)] = table }
        }
    }

    /// Reads the header of a scan and the bits behind it. (T.81, B.2.3.)
    private mutating func scan(_ content: inout ByteReader) throws(FormatError) {
        let start = content.position
        guard var frame else { throw content.error("pixels come before the size of the picture", at: start) }
        scans += 1
        guard scans <= Self.mostScans else {
            throw content.error("there are more than \(Self.mostScans) scans", at: start)
        }
        let count = Int(try content.integer(UInt8.self))
        guard (1...frame.components.count).contains(count) else {
            throw content.error("a scan has \(count) components, the picture \(frame.components.count)", at: start)
        }
        var components: [(index: Int, dc: HuffmanTable?, ac: HuffmanTable?)] = []
        for _ in 0..<count {
            let (identifier, tables) = (try content.integer(UInt8.self), Int(try content.integer(UInt8.self)))
            guard let index = frame.components.firstIndex(where: { $0.identifier == identifier }),
                !components.contains(where: { $0.index == index })
            else {
                throw content.error("the component \(identifier) of a scan is none, or twice", at: content.position - 2)
            }
            guard tables >> 4 < 4, tables & 15 < 4 else {
                throw content.error("the Huffman tables are not 0 to 3", at: content.position - 1)
            }
            components.append((index, dcTables[tables >> 4], acTables[tables & 15]))
            // A later scan may not change the steps of coefficients that an earlier one has given.
            if frame.components[index].steps == nil {
                guard let table = steps[frame.components[index].tableIndex] else {
                    throw content.error(
                        "the component \(identifier) has no quantization table", at: content.position - 2)
                }
                frame.components[index].steps = table
            }
        }
        let at = content.position
        var (first, last) = (Int(try content.integer(UInt8.self)), Int(try content.integer(UInt8.self)))
        var bits = Int(try content.integer(UInt8.self))
        if frame.isProgressive {
            let (above, shift) = (bits >> 4, bits & 15)
            guard first == 0 ? last == 0 : first <= last && last < 64 && count == 1, shift <= 13,
                above == 0 || above == shift + 1
            else { throw content.error("a progressive scan of this kind is not possible", at: at) }
        } else {
            (first, last, bits) = (0, 63, 0)
        }
        let scan = JPEGScan(
            components: components, band: first...last, shift: bits & 15, isRefinement: bits >> 4 > 0,
            restartInterval: restartInterval)
        let (position, file) = (reader.position, file)
        let end = try bytes.withBytes { bytes throws(FormatError) in
            try scan.decode(bytes, file: file, at: position, of: frame)
        }
        self.frame = frame
        reader = ByteReader(bytes, file: file, position: end)
    }
}

extension ByteReader {
    /// The next bytes are those of a text.
    fileprivate func starts(with text: String) -> Bool {
        var copy = self
        return (try? copy.bytes(text.utf8.count).withBytes { $0.elementsEqual(text.utf8) }) ?? false
    }
}
