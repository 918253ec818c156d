import AccelByteIO

extension Attack {
    /// Zip archives with the verdict of a careful reader.
    public static let zip: [Attack] = sound + names + headers + directories

    private static func archive(_ name: String, _ sample: ZipSample, _ verdict: Verdict) -> Attack {
        Attack(name, sample.bytes, verdict)
    }

    /// One entry of 5 bytes: header 30 + name 1, content to byte 36, directory there, end record at 83.
    private static func one(_ name: String, _ verdict: Verdict, _ change: (inout ZipSample.Entry) -> Void) -> Attack {
        archive(name, ZipSample([.init("a", "hello", change)]), verdict)
    }

    private static func named(_ name: String, _ verdict: Verdict) -> Attack {
        archive("the name \(name.debugDescription)", ZipSample([.init(name, "")]), verdict)
    }

    private static func whole(_ name: String, _ verdict: Verdict, _ change: (inout ZipSample) -> Void) -> Attack {
        archive(name, ZipSample([.init("a", "hello"), .init("b", "world")], change), verdict)
    }

    private static let sound: [Attack] = [
        archive("no entries", ZipSample([]), .accepted),
        whole("two entries", .accepted) { _ in },
        one("deflated", .accepted) { $0.deflate() },
        one("deflated, with a descriptor", .accepted) {
            $0.deflate(); $0.moveSizesBehind()
        },
        one("deflated, with a descriptor without signature", .accepted) {
            $0.deflate(); $0.moveSizesBehind(signed: false)
        },
        one("an unknown extra field", .accepted) {
            $0.extra = [0x55, 0x54, 1, 0, 7]; $0.localExtra = [0x55, 0x54, 0, 0]
        },
        archive(
            "a folder", ZipSample([.init("d/", "") { $0.attributes = 0o040755 << 16 }, .init("d/a", "x")]), .accepted),
    ]

    private static let names: [Attack] = [
        named("../a", .rejected(.offset(34), "'..'")), named("a/../b", .rejected(.offset(36), "'..'")),
        named("/a", .rejected(.offset(32), "absolute")), named("C:a", .rejected(.offset(33), "colon")),
        named("a\\b", .rejected(.offset(33), "backslash")), named("a\0b", .rejected(.offset(33), "control character")),
        named("", .rejected(.offset(30), "empty part")), named("a//b", .rejected(.offset(34), "empty part")),
        named("./a", .rejected(.offset(33), "'.'")),
        named(String(repeating: "n", count: 256), .rejected(.offset(286), "more than 255 bytes")),
        named(String(repeating: "n/", count: 600) + "n", .rejected(.offset(1231), "1201 bytes")),
        one("a name that is not UTF-8", .rejected(.offset(82), "not valid UTF-8")) { $0.name = [0xFF] },
        one("a name of an unknown character set", .rejected(.offset(83), "neither ASCII nor")) {
            $0.name = Array("é".utf8)
            $0.flags = 0
        },
        archive(
            "the same name twice", ZipSample([.init("a", ""), .init("a", "")]), .rejected(.offset(109), "occurs twice")),
        archive(
            "names that differ in case", ZipSample([.init("a", ""), .init("A", "")]),
            .rejected(.offset(109), "occurs twice")),
        archive(
            "names that differ in Unicode form", ZipSample([.init("\u{E9}", ""), .init("e\u{301}", "")]),
            .rejected(.offset(113), "occurs twice")),
        archive(
            "a file that is also a folder", ZipSample([.init("a", ""), .init("a/b", "")]),
            .rejected(.offset(111), "a folder where a file")),
    ]

    private static let headers: [Attack] = [
        one("encrypted", .rejected(.offset(36), "encrypted")) { $0.flags |= 1 },
        one("strongly encrypted", .rejected(.offset(36), "encrypted")) { $0.flags |= 0x40 },
        one("masked headers", .rejected(.offset(36), "encrypted")) { $0.flags |= 0x2000 },
        one("patched data", .rejected(.offset(36), "unknown flags")) { $0.flags |= 0x20 },
        one("an unknown method", .rejected(.offset(36), "method 12")) { $0.method = 12 },
        one("a symbolic link", .rejected(.offset(36), "symbolic link")) { $0.attributes = 0o120777 << 16 },
        one("a pipe", .rejected(.offset(36), "pipe")) { $0.attributes = 0o010644 << 16 },
        one("a device", .rejected(.offset(36), "device")) { $0.attributes = 0o020644 << 16 },
        one("a link made elsewhere", .rejected(.offset(36), "symbolic link")) {
            $0.attributes = 0o120777 << 16; $0.madeBy = 20
        },
        one("a folder's mode on a file", .rejected(.offset(36), "special file")) { $0.attributes = 0o040755 << 16 },
        one("a folder with content", .rejected(.offset(37), "a folder with content")) {
            $0.name = Array("a/".utf8); $0.attributes = 0
        },
        one("stored with two sizes", .rejected(.offset(36), "two sizes differ")) { $0.size = 4 },
        one("another name in its header", .rejected(.offset(0), "another name")) { $0.localName = Array("b".utf8) },
        one("another method in its header", .rejected(.offset(0), "another method")) { $0.localMethod = 8 },
        one("other flags in its header", .rejected(.offset(0), "other flags")) { $0.localFlags = 0 },
        one("another checksum in its header", .rejected(.offset(0), "another size or checksum")) {
            $0.localChecksum = 1
        },
        one("another size in its header", .rejected(.offset(0), "another size or checksum")) {
            $0.localSize = 6; $0.localCompressedSize = 6
        },
        one("no header", .rejected(.offset(0), "expected the header")) { $0.localSignature = 0x0807_4B50 },
        one("content past the directory", .rejected(.offset(31), "100 bytes are expected here, but 5")) {
            $0.size = 100; $0.compressedSize = 100
        },
        one("content shorter than its room", .rejected(.offset(34), "2 bytes after")) {
            $0.size = 3; $0.compressedSize = 3
        },
        one("a descriptor that lies", .rejected(.offset(41), "disagrees")) {
            $0.deflate(); $0.moveSizesBehind(); $0.behind[4] ^= 1
        },
        one("a descriptor of another kind", .rejected(.offset(41), "expected the data descriptor")) {
            $0.deflate(); $0.moveSizesBehind(); $0.behind[0] ^= 1
        },
        one("no descriptor", .rejected(.offset(41), "4 bytes are expected")) {
            $0.deflate(); $0.moveSizesBehind(); $0.behind = []
        },
        one("an extra field past its end", .rejected(.offset(83), "longer than its header says")) {
            $0.extra = [9, 9, 9, 0]
        },
        one("zip64 sizes nobody asked for", .rejected(.offset(36), "does not ask for")) {
            $0.extra = [1, 0, 8, 0] + little(5 as UInt64)
        },
        one("zip64 sizes twice", .rejected(.offset(87), "twice")) { $0.extra = [1, 0, 0, 0, 1, 0, 0, 0] },
        one("a zip64 size that is missing", .rejected(.offset(36), "zip64 size is missing")) {
            $0.size = .max; $0.localSize = 5
        },
        one("a zip64 size of 2^64-1", .rejected(.offset(36), "out of range")) {
            $0.size = .max; $0.extra = [1, 0, 8, 0] + little(UInt64.max)
        },
        one("a second name", .rejected(.offset(83), "another name")) { $0.extra = [0x75, 0x70, 1, 0, 1] },
        one("a second name in its header", .rejected(.offset(31), "another name")) {
            $0.localExtra = [0x75, 0x70, 1, 0, 1]
        },
        one("a hard link (PKWARE)", .rejected(.offset(83), "makes the entry a link")) {
            $0.extra = [0x0D, 0, 13, 0] + [UInt8](repeating: 0, count: 12) + [0x62]
        },
        one("a hard link in its header (Info-ZIP)", .rejected(.offset(31), "makes the entry a link")) {
            $0.localExtra = [0x6E, 0x75, 15, 0] + [UInt8](repeating: 0, count: 14) + [0x62]
        },
        one("times of PKWARE", .accepted) { $0.extra = [0x0D, 0, 12, 0] + [UInt8](repeating: 0, count: 12) },
        one("a bomb by its ratio", .rejected(.offset(41), "times as many")) {
            $0.deflate(); $0.size = 1 << 30
        },
        one("a bomb by its size", .rejected(.offset(41), "unpack to more than")) {
            $0.deflate()
            $0.size = .max
            $0.extra = [1, 0, 8, 0] + little(UInt64(1) << 40)
        },
        one("a wrong checksum", .rejected(.offset(31), "does not fit its checksum")) { $0.checksum ^= 1 },
        one("no deflate stream", .rejected(.offset(31), "not a deflate stream of 5 bytes")) {
            $0.deflate(); $0.packed[0] = 7
        },
        one("a deflate stream of more bytes", .rejected(.offset(31), "not a deflate stream of 4 bytes")) {
            $0.deflate(); $0.size = 4
        },
        one("a deflate stream of fewer bytes", .rejected(.offset(31), "not a deflate stream of 6 bytes")) {
            $0.deflate(); $0.size = 6
        },
        one("bytes behind a deflate stream", .rejected(.offset(31), "not a deflate stream of 5 bytes")) {
            $0.deflate()
            $0.packed.append(0)
            $0.compressedSize += 1
        },
    ]

    private static let directories: [Attack] = [
        Attack("empty", [], .rejected(.offset(0), "has 0 bytes")),
        Attack("21 bytes", [UInt8](repeating: 0, count: 21), .rejected(.offset(0), "has 21 bytes")),
        Attack("zeros", [UInt8](repeating: 0, count: 100), .rejected(.offset(78), "is no zip archive")),
        whole("a comment", .rejected(.offset(169), "expected the end record")) { $0.comment = [1, 2, 3] },
        whole("another archive as the comment", .rejected(.offset(188), "but its end record stands at 188")) {
            $0.comment = ZipSample([]).bytes
        },
        whole("a comment that is not there", .rejected(.offset(166), "a comment of a length")) { $0.commentLength = 5 },
        whole("bytes before the first entry", .rejected(.offset(0), "first 5 bytes")) { $0.prefix = [1, 2, 3, 4, 5] },
        whole("bytes before the directory", .rejected(.offset(72), "2 bytes after \"b\"")) {
            $0.beforeDirectory = [0, 0]
        },
        whole("bytes behind the directory", .rejected(.offset(168), "its end record stands at 168")) {
            $0.behindDirectory = [0, 0]
        },
        whole("bytes in the directory", .rejected(.offset(166), "belong to none of its 2 entries")) {
            $0.behindDirectory = [0, 0]
            $0.directorySize = 96
        },
        whole("an entry fewer than there are", .rejected(.offset(119), "belong to none of its 1 entries")) {
            $0.count = 1
        },
        whole("an entry more than there are", .rejected(.offset(166), "3 entries do not fit")) { $0.count = 3 },
        whole("65535 entries", .rejected(.offset(146), "not where it has to be")) { $0.count = .max },
        whole("a second disk", .rejected(.offset(166), "several disks")) { $0.disk = 1 },
        whole("a directory past the end", .rejected(.offset(166), "its end record stands at 166")) {
            $0.directoryOffset = 1000
        },
        whole("a directory of another size", .rejected(.offset(166), "its end record stands at 166")) {
            $0.directorySize = 93
        },
        whole("entries that overlap", .rejected(.offset(0), "they overlap")) { $0.entries[1].offset = 0 },
        whole("an entry inside of another", .rejected(.offset(31), "bytes are expected here")) {
            $0.entries[1].offset = 31
        },
        whole("an entry inside of the directory", .rejected(.offset(72), "inside of the directory")) {
            $0.entries[1].offset = 100
        },
        whole("an entry past the end", .rejected(.offset(72), "inside of the directory")) {
            $0.entries[1].offset = 1 << 31
        },
    ]
}
