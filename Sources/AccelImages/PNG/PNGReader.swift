import AccelByteIO

/// The reader of PNG files of every colour type and bit depth. (W3C, Portable Network Graphics, third edition.) Chunks that need not be
/// understood are left out: transparency, gamma, colour profiles, and the later frames of an animation. The orientation
/// of a camera is applied.
struct PNGReader {
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    private let bytes: ByteView
    private let file: String
    private var reader: ByteReader

    init(_ bytes: ByteView, file: String) {
        (self.bytes, self.file) = (bytes, file)
        reader = ByteReader(bytes, file: file, position: Self.signature.count)
    }

    private struct Chunk {
        let name: [UInt8]
        let content: ByteView
        /// The checksum is that of the bytes.
        let isIntact: Bool
        /// The offset of the content.
        let offset: Int

        func `is`(_ name: String) -> Bool { self.name.elementsEqual(name.utf8) }
        /// A reader that does not know the chunk may leave it out.
        var isAncillary: Bool { name[0] & 0x20 != 0 }
        var text: String { String(decoding: name, as: UTF8.self) }
    }

    consuming func picture() throws(FormatError) -> Picture {
        let first = try chunk()
        guard first.is("IHDR"), first.content.count == 13 else {
            throw reader.error("the file does not begin with a header of 13 bytes", at: first.offset - 8)
        }
        var headerReader = ByteReader(first.content, file: file, origin: first.offset)
        let header = try PNGHeader(&headerReader, fileBytes: bytes.count)
        var palette: ByteView?
        var data: [ByteView] = []
        var (dataOffset, dataEnd) = (0, 0)
        var metadata = PictureMetadata()
        while true {
            let chunk = try chunk()
            if chunk.is("IEND") { break }
            if chunk.is("PLTE") {
                guard palette == nil else { throw reader.error("there are two palettes", at: chunk.offset - 8) }
                guard data.isEmpty else { throw reader.error("the palette follows pixels", at: chunk.offset - 8) }
                guard chunk.content.count.isMultiple(of: 3), (3...768).contains(chunk.content.count) else {
                    throw reader.error(
                        "a palette has 1 to 256 colours of 3 bytes, and this one \(chunk.content.count) bytes",
                        at: chunk.offset - 8)
                }
                palette = chunk.content
            } else if chunk.is("IDAT") {
                guard data.isEmpty || chunk.offset - 8 == dataEnd else {
                    throw reader.error("the chunks of pixels are apart", at: chunk.offset - 8)
                }
                if data.isEmpty { dataOffset = chunk.offset }
                data.append(chunk.content)
                dataEnd = reader.position
            } else if chunk.is("eXIf"), chunk.isIntact {
                metadata.add(exifChunk: chunk.content)
            } else if chunk.is("iTXt"), chunk.isIntact {
                metadata.add(textChunk: chunk.content)
            } else if !chunk.isAncillary {
                throw reader.error("the chunk \"\(chunk.text)\" is unknown", at: chunk.offset - 4)
            }
        }
        guard !data.isEmpty else { throw reader.error("there are no pixels") }
        guard header.color != .palette || palette != nil else {
            throw reader.error("the colours have no palette", at: dataOffset - 8)
        }
        guard let rows = Deflate.decompress(zlib: data, size: header.byteCount) else {
            throw reader.error(
                "the pixels are not one complete zlib stream of \(header.byteCount) bytes", at: dataOffset)
        }
        let pixels = PNGPixels(header, palette: palette?.withBytes { Array($0) } ?? [])
        return try rows.withBytes { rows throws(FormatError) in
            try pixels.picture(rows, reader, at: dataOffset).upright(from: metadata.orientation)
        }
    }

    /// Reads the next chunk, and compares the checksum of one that has to be understood.
    private mutating func chunk() throws(FormatError) -> Chunk {
        let start = reader.position
        let size = Int(try reader.integer(UInt32.self).byteSwapped)
        let name = try reader.bytes(4).withBytes { Array($0) }
        guard name.allSatisfy({ UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }) else {
            throw reader.error("the name of a chunk has other bytes than letters", at: start + 4)
        }
        guard size <= reader.remaining - 4 else {
            throw reader.error("the chunk has \(size) bytes, but \(max(reader.remaining - 4, 0)) are left", at: start)
        }
        let content = try reader.bytes(size)
        let expected = try reader.integer(UInt32.self).byteSwapped
        let isIntact = Deflate.checksum(of: bytes[start + 4..<start + 8 + size]) == expected
        let chunk = Chunk(name: name, content: content, isIntact: isIntact, offset: start + 8)
        guard chunk.isAncillary || isIntact else {
            throw reader.error("the checksum of the chunk \"\(chunk.text)\" is another one", at: start + 8 + size)
        }
        return chunk
    }
}
