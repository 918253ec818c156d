import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// weights.bin: the sections of the blobs, and the encoding of each constant of graph.bin.
struct WeightIndex {
    /// The encoding of a constant. Constants with equal bytes share sections.
    struct Encoding: Equatable, Sendable {
        /// The codec's specification.
        var codec: String
        /// Indices in `sections`.
        var sections: [Int]
    }
    static let magic = "ACCELWTS"

    var sections: [Section]
    /// The encodings in the order of the graph's constants.
    var encodings: [Encoding]

    init(sections: [Section], encodings: [Encoding]) {
        self.sections = sections
        self.encodings = encodings
    }

    var encoded: ByteView {
        var writer = TableWriter()
        writer.list(sections) { writer, section in
            writer.integer(section.blob)
            writer.integer(section.offset)
            writer.integer(section.byteCount)
            writer.bytes(section.digest.bytes)
        }
        writer.list(encodings) { writer, encoding in
            writer.string(encoding.codec)
            writer.list(encoding.sections) { $0.integer($1) }
        }
        return writer.file(magic: Self.magic)
    }

    /// Reads weights.bin.
    /// - Throws: `FormatError` if sections are not consecutive or do not fill the blobs, or if an encoding has an
    ///   invalid section.
    init(_ bytes: ByteView, file: String, blobs: [ByteView]) throws {
        var reader = try TableReader(bytes, file: file, magic: Self.magic)
        let sections = try reader.list("sections", minimumBytes: 35) { reader in
            Section(
                blob: try reader.integer("blob", atMost: 1 << 20),
                offset: try reader.integer("offset in the blob", atMost: PackageFormat.maximumBlobBytes),
                byteCount: try reader.integer("bytes of the section"), digest: try reader.digest())
        }
        encodings = try reader.list("encodings", minimumBytes: 2) { reader in
            Encoding(
                codec: try reader.string("codec"),
                sections: try reader.list("sections of a constant") {
                    try $0.integer("section", atMost: sections.count - 1)
                })
        }
        try reader.finish()
        self.sections = sections
        try Self.check(sections, blobs: blobs, file: file)
    }

    /// Checks that sections are consecutive except for padding, and fill the blobs.
    private static func check(_ sections: [Section], blobs: [ByteView], file: String) throws {
        var ends = [Int](repeating: 0, count: blobs.count)
        var last = 0
        for (index, section) in sections.enumerated() {
            guard section.blob < blobs.count, section.blob == last || section.blob == last + 1,
                section.offset == ends[section.blob], section.byteCount <= blobs[section.blob].count - section.offset
            else {
                throw FormatError(
                    file: file,
                    reason:
                        "section \(index) (\(section.byteCount) bytes at \(section.offset) of blob \(section.blob)) "
                        + "does not follow the one before it, or is outside of its blob")
            }
            let alignment = PackageFormat.sectionAlignment
            ends[section.blob] = (section.offset + section.byteCount + alignment - 1) / alignment * alignment
            last = section.blob
        }
        for (index, end) in ends.enumerated() where end != blobs[index].count {
            throw FormatError(
                file: file,
                reason: "the sections of blob \(index) end at \(end), but it has \(blobs[index].count) bytes")
        }
    }

    /// Returns the encoded tensors of the graph's constants, as views of the blobs.
    /// - Throws: `FormatError` if the number of encodings differs from that of constants, or if one does not fit its
    ///   constant.
    func tensors(of constants: [GraphConstant], blobs: [ByteView], file: String) throws -> [CompressedTensor] {
        guard encodings.count == constants.count else {
            throw FormatError(
                file: file, reason: "has \(encodings.count) encodings for the graph's \(constants.count) constants")
        }
        var codecs: [String: any WeightCodec] = [:]
        return try zip(constants, encodings).map { constant, encoding in
            let contents = encoding.sections.map { sections[$0] }.map { section in
                blobs[section.blob][section.offset..<section.offset + section.byteCount]
            }
            let stored = StoredEncoding(
                name: constant.name, elementType: constant.elementType, shape: constant.shape, codec: encoding.codec)
            let codec = try codecs[encoding.codec] ?? stored.parsedCodec(file: file)
            codecs[encoding.codec] = codec
            let tensor = try stored.tensor(codec, sections: contents, file: file)
            func fail(_ reason: String) -> FormatError {
                FormatError(file: file, location: .tensor(constant.name, index: nil), reason: reason)
            }
            guard constant.isWeight || tensor.codec is StoredCodec else {
                throw fail("is a table, and those are stored")
            }
            guard tensor.codec.specification == encoding.codec else {
                throw fail("the codec \(quoted(encoding.codec)) is written as \(quoted(tensor.codec.specification))")
            }
            return tensor
        }
    }
}
