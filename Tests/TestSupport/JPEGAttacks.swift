import AccelByteIO

extension Attack {
    private static func segment(_ marker: UInt8, _ content: [UInt8], size: Int? = nil) -> [UInt8] {
        let size = size ?? content.count + 2
        return [0xFF, marker, UInt8(size >> 8), UInt8(size & 255)] + content
    }

    private static let start: [UInt8] = [0xFF, 0xD8]
    private static let end: [UInt8] = [0xFF, 0xD9]
    private static let steps = segment(0xDB, [0] + [UInt8](repeating: 1, count: 64))
    private static func frame(
        _ width: Int = 8, _ height: Int = 8, marker: UInt8 = 0xC0, bits: UInt8 = 8,
        _ components: [[UInt8]] = [[1, 0x11, 0]]
    ) -> [UInt8] {
        let size = [UInt8(height >> 8), UInt8(height & 255), UInt8(width >> 8), UInt8(width & 255)]
        return segment(marker, [bits] + size + [UInt8(components.count)] + components.flatMap(\.self))
    }
    /// A Huffman table of the code 0 for a symbol.
    private static func table(_ kind: UInt8, _ symbol: UInt8 = 0, counts: [UInt8] = [1]) -> [UInt8] {
        let counts = counts + [UInt8](repeating: 0, count: 16 - counts.count)
        return segment(0xC4, [kind] + counts + [UInt8](repeating: symbol, count: counts.reduce(0) { $0 + Int($1) }))
    }
    private static func scan(_ components: [UInt8] = [1, 0], _ band: [UInt8] = [0, 63, 0]) -> [UInt8] {
        segment(0xDA, [UInt8(components.count / 2)] + components + band)
    }

    /// The frame begins at byte 71, its content at byte 75, the tables at 84 and 106, the scan at 128, and its bits at 138.
    private static func jpeg(
        of frame: [UInt8] = frame(), dc: [UInt8] = table(0), ac: [UInt8] = table(0x10), scan: [UInt8] = scan(),
        _ bits: [UInt8] = [0x3F], _ rest: [UInt8] = end
    ) -> [UInt8] { start + steps + frame + dc + ac + scan + bits + rest }

    /// A JPEG with a segment of metadata at its beginning.
    private static func described(_ content: String) -> [UInt8] {
        start + segment(0xE1, Array(content.utf8)) + jpeg().dropFirst(2)
    }

    private static let progressive = frame(marker: 0xC2)
    private static let means = scan([1, 0], [0, 0, 0])

    static let jpegs: [Attack] = jpegFrames + jpegSegments + jpegBits + jpegScans

    private static func size(_ name: String, _ width: Int, _ height: Int, _ words: String) -> Attack {
        Attack(name, jpeg(of: frame(width, height)), .rejected(.offset(76), words))
    }

    private static let jpegFrames: [Attack] = [
        Attack("a JPEG of a block", jpeg(), .accepted),
        size("a JPEG without columns", 0, 8, "0 x 8 has no pixels"),
        size("a JPEG without rows", 8, 0, "8 x 0 has no pixels"),
        size("a JPEG of 65535 x 65535", 65535, 65535, "134217728 pixels are supported"),
        size("a JPEG of 60000 x 2000 in 141 bytes", 60000, 2000, "too short for 60000 x 2000 pixels"),
        Attack("a JPEG of 12 bits", jpeg(of: frame(bits: 12)), .rejected(.offset(75), "samples of 12 bits")),
        Attack(
            "a JPEG of five colours", jpeg(of: frame(8, 8, (1...5).map { [$0, 0x11, 0] })),
            .rejected(.offset(80), "5 components is not supported")),
        Attack(
            "a JPEG of four inks with a scan of one", jpeg(of: frame(8, 8, (1...4).map { [$0, 0x11, 0] })),
            .rejected(.offset(150), "has no pixels")),
        Attack(
            "a JPEG of two components", jpeg(of: frame(8, 8, (1...2).map { [$0, 0x11, 0] })),
            .rejected(.offset(80), "2 components is not supported")),
        Attack(
            "a JPEG with arithmetic coding", jpeg(of: frame(marker: 0xC9)), .rejected(.offset(71), "arithmetic coding")),
        Attack("a lossless JPEG", jpeg(of: frame(marker: 0xC3)), .rejected(.offset(71), "lossless coding")),
        Attack("a hierarchical JPEG", jpeg(of: frame(marker: 0xC5)), .rejected(.offset(71), "hierarchical coding")),
        Attack(
            "a JPEG with a sampling factor of 0", jpeg(of: frame(8, 8, [[1, 0x01, 0]])),
            .rejected(.offset(82), "0 and 1")),
        Attack(
            "a JPEG with a sampling factor of 5", jpeg(of: frame(8, 8, [[1, 0x15, 0]])),
            .rejected(.offset(82), "1 and 5")),
        Attack(
            "a JPEG with sampling factors of 3 and 2",
            jpeg(of: frame(8, 8, [[1, 0x31, 0], [2, 0x21, 0], [3, 0x11, 0]])),
            .rejected(.offset(81), "do not divide the largest")),
        Attack(
            "a JPEG with a quantization table 4", jpeg(of: frame(8, 8, [[1, 0x11, 4]])),
            .rejected(.offset(83), "the quantization table 4")),
        Attack(
            "a JPEG with two components of a number", jpeg(of: frame(8, 8, (1...3).map { [$0 / 2, 0x11, 0] })),
            .rejected(.offset(87), "two components have the number 1")),
        Attack("a JPEG with two frames", start + steps + frame() + frame(), .rejected(.offset(84), "two frames")),
    ]

    private static let jpegSegments: [Attack] = [
        Attack("a JPEG that ends at once", start + end, .rejected(.offset(4), "there is no picture before the end")),
        Attack("a JPEG without a scan", start + steps + frame() + end, .rejected(.offset(86), "has no pixels")),
        Attack("a JPEG within a JPEG", start + start, .rejected(.offset(2), "a second picture begins here")),
        Attack(
            "a JPEG with a segment of 1 byte", start + segment(0xE0, [], size: 1), .rejected(.offset(4), "has 1 bytes")),
        Attack(
            "a JPEG with a segment beyond the file", start + segment(0xE0, [], size: 99),
            .rejected(.offset(6), "97 bytes are expected here")),
        Attack("a JPEG with EXIF of no bytes", described("Exif\0\0"), .accepted),
        Attack("a JPEG with EXIF cut in its header", described("Exif\0\0MM\0*\0\0"), .accepted),
        Attack("a JPEG with EXIF cut in its directory", described("Exif\0\0II*\0\u{8}\0\0\0\u{1}"), .accepted),
        Attack("a JPEG with XMP of no bytes", described("http://ns.adobe.com/xap/1.0/\0"), .accepted),
        Attack(
            "a JPEG with XMP cut in its orientation", described("http://ns.adobe.com/xap/1.0/\0tiff:Orientation>"),
            .accepted),
        Attack(
            "a JPEG with bytes between segments", jpeg().prefix(71) + [1, 0xFF, 0] + jpeg().dropFirst(71), .accepted),
        Attack(
            "a JPEG with a quantization table of kind 4", start + segment(0xDB, [4]), .rejected(.offset(6), "kind 4")),
        Attack(
            "a JPEG with a short quantization table", start + segment(0xDB, [0, 1]),
            .rejected(.offset(8), "1 bytes are expected here")),
        Attack("a JPEG with a Huffman table of kind 32", start + table(0x20), .rejected(.offset(6), "kind 32")),
        Attack(
            "a JPEG with more codes than bits", start + table(0, counts: [3]),
            .rejected(.offset(6), "more codes than bits")),
        Attack(
            "a JPEG with 257 codes", start + table(0, counts: [UInt8](repeating: 0, count: 14) + [128, 129]),
            .rejected(.offset(6), "more codes than bits")),
        Attack("a JPEG with pixels before its size", start + scan(), .rejected(.offset(6), "come before the size")),
        Attack(
            "a JPEG without a quantization table", start + jpeg().dropFirst(71),
            .rejected(.offset(64), "no quantization table")),
        Attack("a sequential JPEG without an end", jpeg([0x3F], []), .accepted),
        Attack(
            "a progressive JPEG without an end", jpeg(of: progressive, scan: means, [0x7F], []),
            .rejected(.offset(139), "ends too early")),
    ]

    private static let jpegBits: [Attack] = [
        Attack("a JPEG without pixels", jpeg([]), .rejected(.offset(138), "the pixels end too early")),
        Attack(
            "a JPEG with too few pixels", jpeg(of: frame(40, 8)), .rejected(.offset(139), "the pixels end too early")),
        Attack(
            "a JPEG without Huffman tables", jpeg(dc: [], ac: []), .rejected(.offset(94), "no Huffman table for DC")),
        Attack("a JPEG without a table for AC", jpeg(ac: []), .rejected(.offset(117), "no Huffman table for AC")),
        Attack("a JPEG with bits that are no code", jpeg([0x80, 0, 0]), .rejected(.offset(141), "are no code")),
        Attack(
            "a JPEG with a DC coefficient of 16 bits", jpeg(dc: table(0, 16), [0, 0, 0]),
            .rejected(.offset(141), "16 bits")),
        Attack(
            "a JPEG with 65 coefficients", jpeg(ac: table(0x10, 0xF1), [0, 0, 0]),
            .rejected(.offset(141), "too many coefficients")),
        Attack(
            "a JPEG with a run without a value", jpeg(ac: table(0x10, 0x20), [0, 0]),
            .rejected(.offset(140), "a run without a value")),
        Attack(
            "a JPEG without a restart marker", start + segment(0xDD, [0, 1]) + jpeg(of: frame(16, 8)).dropFirst(2),
            .rejected(.offset(145), "the restart marker 0")),
        Attack(
            "a JPEG with another restart marker",
            start + segment(0xDD, [0, 1]) + jpeg(of: frame(16, 8), [0x3F, 0xFF, 0xD1, 0x3F]).dropFirst(2),
            .rejected(.offset(145), "the restart marker 0")),
        Attack(
            "a JPEG with pixels before a restart marker",
            start + segment(0xDD, [0, 1]) + jpeg(of: frame(16, 8), [0x3F, 0, 0xFF, 0xD0, 0x3F]).dropFirst(2),
            .rejected(.offset(146), "a restart marker is expected")),
        Attack(
            "a JPEG with a restart marker",
            start + segment(0xDD, [0, 1]) + jpeg(of: frame(16, 8), [0x3F, 0xFF, 0xFF, 0xD0, 0x3F]).dropFirst(2),
            .accepted),
    ]

    private static func band(_ name: String, _ band: [UInt8]) -> Attack {
        Attack(
            name, jpeg(of: progressive, scan: scan([1, 0], band)),
            .rejected(.offset(135), "a progressive scan of this kind"))
    }

    private static let jpegScans: [Attack] = [
        Attack("a progressive JPEG", jpeg(of: progressive, scan: means, [0x7F]), .accepted),
        band("a progressive JPEG with all coefficients in a scan", [0, 63, 0]),
        band("a progressive JPEG with a band backwards", [6, 5, 0]),
        band("a progressive JPEG with a band of 65", [1, 64, 0]),
        band("a progressive JPEG with a shift of 14", [0, 0, 14]),
        band("a progressive JPEG that skips a bit", [0, 0, 0x20]),
        Attack(
            "a JPEG with a scan of no components", jpeg(scan: scan([])), .rejected(.offset(132), "has 0 components")),
        Attack(
            "a JPEG with a scan of two components", jpeg(scan: scan([1, 0, 1, 0])),
            .rejected(.offset(132), "has 2 components")),
        Attack(
            "a JPEG with a scan of another component", jpeg(scan: scan([2, 0])),
            .rejected(.offset(133), "the component 2")),
        Attack(
            "a JPEG with a scan by a Huffman table 4", jpeg(scan: scan([1, 4])), .rejected(.offset(134), "not 0 to 3")),
        Attack(
            "a JPEG with 257 scans",
            jpeg(
                of: progressive, scan: means, [0x7F] + (0..<256).flatMap { _ in scan([1, 0], [0, 0, 0x10]) + [0x7F] }),
            .rejected(.offset(2948), "more than 256 scans")),
        Attack(
            "a JPEG with a new coefficient of 2 bits",
            jpeg(of: progressive, ac: table(0x10, 2), scan: means, [0x7F] + scan([1, 0], [1, 63, 0x10]) + [0, 0, 0]),
            .rejected(.offset(152), "a new coefficient has 2 bits")),
    ]
}
