/// Builds zip archives field by field, so that every field can lie.
public struct ZipSample: Sendable {
    public struct Entry: Sendable {
        public var name: [UInt8]
        /// As it is stored.
        public var packed: [UInt8]
        public var method: UInt16 = 0
        public var flags: UInt16 = 0x800
        public var checksum: UInt32
        public var size: UInt32
        public var compressedSize: UInt32
        public var madeBy: UInt16 = 3 << 8 | 20
        public var attributes: UInt32 = 0o100644 << 16
        public var extra: [UInt8] = []
        public var localExtra: [UInt8] = []
        public var localName: [UInt8]?
        public var localFlags: UInt16?
        public var localMethod: UInt16?
        public var localChecksum: UInt32?
        public var localSize: UInt32?
        public var localCompressedSize: UInt32?
        public var localSignature: UInt32 = 0x0403_4B50
        /// Behind the content: a data descriptor.
        public var behind: [UInt8] = []
        public var offset: UInt32?

        /// A stored entry.
        public init(_ name: String, _ content: String, _ change: (inout Entry) -> Void = { _ in }) {
            self.name = Array(name.utf8)
            packed = Array(content.utf8)
            checksum = ZipSample.checksum(packed)
            size = UInt32(packed.count)
            compressedSize = size
            change(&self)
        }

        /// Packs the content as one deflate block without compression.
        public mutating func deflate() {
            let count = UInt16(packed.count)
            packed = [1] + little(count) + little(~count) + packed
            method = 8
            compressedSize = UInt32(packed.count)
        }

        /// Moves sizes and checksum behind the content.
        public mutating func moveSizesBehind(signed: Bool = true) {
            flags |= 8
            (localChecksum, localSize, localCompressedSize) = (0, 0, 0)
            behind =
                (signed ? little(0x0807_4B50 as UInt32) : []) + little(checksum) + little(compressedSize) + little(size)
        }
    }

    public var entries: [Entry]
    public var prefix: [UInt8] = []
    public var beforeDirectory: [UInt8] = []
    public var behindDirectory: [UInt8] = []
    public var comment: [UInt8] = []
    public var commentLength: UInt16?
    public var count: UInt16?
    public var disk: UInt16 = 0
    public var directoryOffset: UInt32?
    public var directorySize: UInt32?

    public init(_ entries: [Entry], _ change: (inout ZipSample) -> Void = { _ in }) {
        self.entries = entries
        change(&self)
    }

    public var bytes: [UInt8] {
        var all = prefix
        var directory: [UInt8] = []
        for entry in entries {
            let offset = UInt32(all.count)
            all += little(entry.localSignature) + little(20 as UInt16) + little(entry.localFlags ?? entry.flags)
            all += little(entry.localMethod ?? entry.method) + [0, 0, 0x21, 0]
            all += little(entry.localChecksum ?? entry.checksum)
            all += little(entry.localCompressedSize ?? entry.compressedSize) + little(entry.localSize ?? entry.size)
            let localName = entry.localName ?? entry.name
            all += little(UInt16(localName.count)) + little(UInt16(entry.localExtra.count)) + localName
            all += entry.localExtra + entry.packed + entry.behind

            directory += little(0x0201_4B50 as UInt32) + little(entry.madeBy) + little(20 as UInt16)
            directory += little(entry.flags) + little(entry.method) + [0, 0, 0x21, 0] + little(entry.checksum)
            directory += little(entry.compressedSize) + little(entry.size) + little(UInt16(entry.name.count))
            directory += little(UInt16(entry.extra.count)) + [0, 0, 0, 0, 0, 0] + little(entry.attributes)
            directory += little(entry.offset ?? offset) + entry.name + entry.extra
        }
        all += beforeDirectory
        let start = UInt32(all.count)
        all += directory + behindDirectory
        all += little(0x0605_4B50 as UInt32) + little(disk) + little(disk)
        all += little(count ?? UInt16(entries.count)) + little(count ?? UInt16(entries.count))
        all += little(directorySize ?? UInt32(directory.count)) + little(directoryOffset ?? start)
        return all + little(commentLength ?? UInt16(comment.count)) + comment
    }

    static func checksum(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(UInt32.max) { checksum, byte in
            (0..<8).reduce(checksum ^ UInt32(byte)) { value, _ in value >> 1 ^ (value & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
    }
}

func little<Integer: FixedWidthInteger>(_ integer: Integer) -> [UInt8] {
    withUnsafeBytes(of: integer.littleEndian) { Array($0) }
}
