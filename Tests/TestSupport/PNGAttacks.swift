import AccelByteIO

extension Attack {
    /// Picture files with the verdict of a reader.
    public static let pictures: [Attack] = otherFormats + pngHeaders + pngChunks + pngMetadata + pngPixels + jpegs

    private static let otherFormats: [Attack] = [
        Attack("no bytes", [], .rejected(.offset(0), "is not a PNG or JPEG file")),
        Attack("text", Array("a picture".utf8), .rejected(.offset(0), "is not a PNG or JPEG file")),
        Attack("a GIF", Array("GIF89a".utf8), .rejected(.offset(0), "is a GIF file; PNG and JPEG are read")),
        Attack("a WebP", Array("RIFF\0\0\0\0WEBPVP8 ".utf8), .rejected(.offset(0), "is a WebP file")),
        Attack("a HEIC", Array("\0\0\0\u{18}ftypheic".utf8), .rejected(.offset(0), "is a HEIC file")),
        Attack("a TIFF", Array("II*\0".utf8), .rejected(.offset(0), "is a TIFF file")),
    ]

    private static func big(_ value: Int, _ bytes: Int) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * (bytes - 1 - $0))) }
    }

    /// - Parameter damage: changes the checksum.
    private static func chunk(_ name: String, _ content: [UInt8], size: Int? = nil, damage: UInt32 = 0) -> [UInt8] {
        let named = Array(name.utf8) + content
        return big(size ?? content.count, 4) + named
            + big(Int(Deflate.checksum(of: ByteView(named)) ^ damage), 4)
    }

    /// A zlib stream of one stored block.
    private static func stored(_ content: [UInt8]) -> [UInt8] {
        var (a, b) = (1, 0)
        for byte in content {
            a = (a + Int(byte)) % 65521
            b = (b + a) % 65521
        }
        let size = [UInt8(content.count & 255), UInt8(content.count >> 8)]
        return [0x78, 0x01, 0x01] + size + size.map { ~$0 } + content + big(b << 16 | a, 4)
    }

    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    private static let end = chunk("IEND", [])

    /// The chunk begins at byte 8, its content at byte 16.
    private static func header(
        _ width: Int = 1, _ height: Int = 1, depth: UInt8 = 8, color: UInt8 = 2, ways: [UInt8] = [0, 0, 0]
    ) -> [UInt8] {
        signature + chunk("IHDR", big(width, 4) + big(height, 4) + [depth, color] + ways)
    }

    private static let pixel = stored([0, 1, 2, 3])
    /// The pixels begin at byte 41.
    private static func png(_ header: [UInt8] = header(), _ data: [UInt8] = pixel) -> [UInt8] {
        header + chunk("IDAT", data) + end
    }

    private static func size(_ name: String, _ width: Int, _ height: Int, _ words: String) -> Attack {
        Attack(name, png(header(width, height)), .rejected(.offset(16), words))
    }

    private static let pngHeaders: [Attack] = [
        Attack("a PNG of a pixel", png(), .accepted),
        Attack("a PNG without chunks", signature, .rejected(.offset(8), "4 bytes are expected here")),
        Attack(
            "a PNG without a header", signature + chunk("IDAT", pixel) + end,
            .rejected(.offset(8), "does not begin with a header")),
        Attack(
            "a PNG with a header of 12 bytes", signature + chunk("IHDR", [UInt8](repeating: 1, count: 12)) + end,
            .rejected(.offset(8), "a header of 13 bytes")),
        Attack(
            "a PNG with a damaged header", signature + chunk("IHDR", [UInt8](repeating: 0, count: 13), damage: 1),
            .rejected(.offset(29), "the checksum of the chunk \"IHDR\"")),
        size("a PNG without columns", 0, 1, "0 x 1 has no pixels"),
        size("a PNG without rows", 1, 0, "1 x 0 has no pixels"),
        size("a PNG of 2^32 - 1 columns", 0xFFFF_FFFF, 1, "at most 65535 columns"),
        size("a PNG of 65535 x 65535", 65535, 65535, "134217728 pixels are supported"),
        size("a PNG of 60000 x 2000 in 67 bytes", 60000, 2000, "too short for 60000 x 2000 pixels"),
        Attack("a PNG of colour type 5", png(header(color: 5)), .rejected(.offset(25), "colour type 5")),
        Attack("a PNG of 3 bits", png(header(depth: 3)), .rejected(.offset(24), "samples of 3 bits")),
        Attack(
            "a PNG with colours of 16 bits in a palette", png(header(depth: 16, color: 3)),
            .rejected(.offset(24), "samples of 16 bits are not possible with colour type 3")),
        Attack(
            "a PNG with another compression", png(header(ways: [1, 0, 0])),
            .rejected(.offset(26), "the compression method 1")),
        Attack(
            "a PNG with another filter method", png(header(ways: [0, 64, 0])),
            .rejected(.offset(27), "the filter method 64")),
        Attack(
            "a PNG with another interlace method", png(header(ways: [0, 0, 2])),
            .rejected(.offset(28), "the interlace method 2")),
        Attack("an interlaced PNG of a pixel", png(header(ways: [0, 0, 1])), .accepted),
    ]

    private static let palette = header(color: 3)
    /// A PNG with a chunk of metadata before its pixels.
    private static func described(_ name: String, _ chunkName: String, _ content: [UInt8]) -> Attack {
        Attack(name, header() + chunk(chunkName, content) + png().dropFirst(33), .accepted)
    }

    /// EXIF data of a directory at an offset, with one entry for the orientation.
    private static func exif(at offset: Int = 8, entries: Int = 1, count: Int = 1, _ value: [UInt8]) -> [UInt8] {
        Array("MM\0*".utf8) + big(offset, 4) + big(entries, 2) + [1, 18, 0, 3] + big(count, 4) + value + big(8, 4)
    }

    private static let pngMetadata: [Attack] = [
        described("a PNG with an orientation", "eXIf", exif([0, 6, 0, 0])),
        described("a PNG with EXIF of no bytes", "eXIf", []),
        described("a PNG with EXIF that is no TIFF", "eXIf", Array("orientation".utf8)),
        described("a PNG with EXIF cut in its entry", "eXIf", Array(exif([0, 6, 0, 0]).prefix(20))),
        described("a PNG with EXIF of 65535 entries", "eXIf", exif(entries: 65535, [0, 9, 0, 0])),
        described("a PNG with EXIF that points to itself", "eXIf", exif(at: 0, [0, 6, 0, 0])),
        described("a PNG with EXIF beyond its bytes", "eXIf", exif(at: 0xFFFF_FFFF, [0, 6, 0, 0])),
        described(
            "a PNG with 2^32 - 1 orientations", "eXIf", exif(count: 0xFFFF_FFFF, [0xFF, 0xFF, 0xFF, 0xFF])),
        described("a PNG with orientations beyond its EXIF", "eXIf", exif(count: 3, [0xFF, 0xFF, 0xFF, 0xFF])),
        described(
            "a PNG with an orientation in XMP", "iTXt",
            Array("XML:com.adobe.xmp\0\0\0\0\0tiff:Orientation=\"8\"".utf8)),
        described(
            "a PNG with XMP cut in its orientation", "iTXt",
            Array("XML:com.adobe.xmp\0\0\0\0\0tiff:Orientation".utf8)),
        described("a PNG with XMP cut in its header", "iTXt", Array("XML:com.adobe.xmp\0\0".utf8)),
    ]

    private static let pngChunks: [Attack] = [
        Attack(
            "a PNG with a color beyond its palette",
            palette + chunk("PLTE", [1, 2, 3]) + chunk("IDAT", stored([0, 9])) + end,
            .accepted),
        Attack("a PNG without its palette", png(palette), .rejected(.offset(33), "have no palette")),
        Attack(
            "a PNG with a palette of 4 bytes", palette + chunk("PLTE", [1, 2, 3, 4]),
            .rejected(.offset(33), "and this one 4 bytes")),
        Attack(
            "a PNG with a palette of 257 colours", palette + chunk("PLTE", [UInt8](repeating: 0, count: 771)),
            .rejected(.offset(33), "and this one 771 bytes")),
        Attack(
            "a PNG with two palettes", palette + chunk("PLTE", [1, 2, 3]) + chunk("PLTE", [1, 2, 3]),
            .rejected(.offset(48), "two palettes")),
        Attack(
            "a PNG with a palette after its pixels", header() + chunk("IDAT", pixel) + chunk("PLTE", [1, 2, 3]),
            .rejected(.offset(60), "the palette follows pixels")),
        Attack(
            "a PNG with an unknown chunk that has to be understood", header() + chunk("CgBI", []) + png().dropFirst(33),
            .rejected(.offset(37), "the chunk \"CgBI\" is unknown")),
        Attack(
            "a PNG with an unknown chunk", header() + chunk("abCd", [1]) + png().dropFirst(33), .accepted),
        Attack(
            "a PNG with a damaged chunk that is not read",
            header() + chunk("tEXt", [1], damage: 1) + png().dropFirst(33),
            .accepted),
        Attack(
            "a PNG with a digit in the name of a chunk", header() + chunk("ID4T", []),
            .rejected(.offset(37), "other bytes than letters")),
        Attack(
            "a PNG with a chunk beyond the file", header() + chunk("IDAT", pixel, size: 99),
            .rejected(.offset(33), "the chunk has 99 bytes, but 15 are left")),
        Attack(
            "a PNG with a chunk of 2^32 - 1 bytes", header() + chunk("IDAT", [], size: 0xFFFF_FFFF),
            .rejected(.offset(33), "4294967295 bytes, but 0 are left")),
        Attack("a PNG without an end", header() + chunk("IDAT", pixel), .rejected(.offset(60), "4 bytes are expected")),
        Attack("a PNG with bytes behind its end", png() + [1, 2, 3], .accepted),
    ]

    private static let pngPixels: [Attack] = [
        Attack("a PNG without pixels", header() + end, .rejected(.offset(45), "there are no pixels")),
        Attack(
            "a PNG with pixels in three chunks",
            header() + chunk("IDAT", Array(pixel.prefix(3))) + chunk("IDAT", [])
                + chunk("IDAT", Array(pixel.dropFirst(3))) + end, .accepted),
        Attack(
            "a PNG with pixels apart", header() + chunk("IDAT", pixel) + chunk("abCd", []) + chunk("IDAT", []) + end,
            .rejected(.offset(72), "the chunks of pixels are apart")),
        Attack(
            "a PNG with damaged pixels", header() + chunk("IDAT", pixel, damage: 1) + end,
            .rejected(.offset(56), "the checksum of the chunk \"IDAT\"")),
        Attack(
            "a PNG with a row too few", png(header(1, 2)), .rejected(.offset(41), "one complete zlib stream of 8 bytes")
        ),
        Attack(
            "a PNG with a row too many", png(header(), stored([0, 1, 2, 3, 0, 1, 2, 3])),
            .rejected(.offset(41), "one complete zlib stream of 4 bytes")),
        Attack(
            "a PNG with another checksum of its stream", png(header(), pixel.dropLast() + [0]),
            .rejected(.offset(41), "one complete zlib stream")),
        Attack(
            "a PNG with bytes that are no stream", png(header(), [1, 2, 3]), .rejected(.offset(41), "zlib stream")),
        Attack("a PNG with bytes behind its stream", png(header(), pixel + [1, 2]), .accepted),
        Attack(
            "a PNG with an unknown filter", png(header(), stored([5, 1, 2, 3])),
            .rejected(.offset(41), "row 0 has the unknown filter 5")),
    ]
}
