import AccelByteIO
import AccelTensors

/// A tensor of a GGUF file.
struct GGUFTensor: Sendable {
    let name: String
    let type: GGMLType
    /// The shape with the slowest dimension first, as in other formats; files have the opposite order.
    let shape: Shape
    let bytes: ByteView
}

/// A GGUF file with a checked header; its tensors are views of the mapped file.
struct GGUFFile: Sendable {
    /// Limits of a header; beyond them a file is rejected.
    struct Limits: Sendable {
        var tensors = 1 << 18
        var pairs = 1 << 16
        /// All elements of arrays together. The largest known vocabularies have less than a million tokens and merges.
        var elements = 1 << 22
        /// As in ggml, where a name ends with a zero byte.
        var nameBytes = 63
        var keyBytes = 65535
        var rank = 4
        var alignment = 1 << 16
    }

    static let magic: [UInt8] = Array("GGUF".utf8)
    /// The key of the alignment of tensors.
    static let alignmentKey = "general.alignment"
    static let defaultAlignment = 32

    /// The path of the file, or its name in errors.
    let path: String
    /// The file's identity when it was mapped; nil for bytes in memory.
    private(set) var identity: FileIdentity?
    /// The bytes before the tensors, in private memory.
    let header: ByteView
    /// The metadata in the order of the file; no key occurs twice.
    let metadata: [(key: String, value: GGUFValue)]
    /// The tensors in the order of the file, which is that of their bytes.
    let tensors: [GGUFTensor]
    private let indexes: [String: Int]

    /// Maps a file and checks its header.
    /// - Throws: `FormatError` naming the offset or tensor; `RequestError` if the file cannot be read.
    init(_ path: String) throws {
        let file = try MappedFile(path)
        try self.init(file.bytes, file: path)
        identity = file.identity
    }

    /// Checks a file in memory.
    /// - Parameter file: its name in errors.
    init(_ bytes: ByteView, file: String, limits: Limits = Limits()) throws(FormatError) {
        // The header's end is known only when it is parsed. What counts is the second parse, of a private copy, because a
        // mapped file may change.
        let end = try GGUFHeader(parsing: bytes, file: file, limits: limits).end
        let copy = ByteView(bytes[0..<end].withBytes { [UInt8]($0) })
        let parsed = try GGUFHeader(parsing: copy, file: file, limits: limits)
        guard parsed.end == end else {
            throw FormatError(file: file, location: .offset(0), reason: "changed while it was being read")
        }
        header = copy
        path = file
        metadata = parsed.metadata
        tensors = try parsed.tensors(in: bytes)
        indexes = Dictionary(uniqueKeysWithValues: parsed.metadata.enumerated().map { ($1.key, $0) })
    }

    /// The value of a key; nil if there is none.
    subscript(key: String) -> GGUFValue? { indexes[key].map { metadata[$0].value } }
}

/// The header of a GGUF file: metadata, and names, types, shapes and offsets of tensors.
private struct GGUFHeader {
    private struct Entry {
        let name: String
        let type: GGMLType
        let shape: Shape
        let byteCount: Int
        let offset: Int
    }

    private let file: String
    private var entries: [Entry] = []
    private(set) var metadata: [(key: String, value: GGUFValue)] = []
    private var alignment = GGUFFile.defaultAlignment
    /// The end of the header, before the padding.
    private(set) var end = 0

    init(parsing bytes: ByteView, file: String, limits: GGUFFile.Limits) throws(FormatError) {
        self.file = file
        var reader = ByteReader(bytes, file: file)
        let (tensors, pairs) = try Self.counts(&reader, limits)
        var (keys, budget) = (Set<String>(), limits.elements)
        for _ in 0..<pairs {
            let start = reader.position
            let key = try reader.gguf("a key", atMost: limits.keyBytes)
            guard !key.isEmpty else { throw reader.error("a key is empty", at: start) }
            guard keys.insert(key).inserted else {
                throw reader.error("the key \(quoted(key)) occurs twice", at: start)
            }
            metadata.append((key, try GGUFValue(parsing: &reader, budget: &budget)))
            if key == GGUFFile.alignmentKey { try takeAlignment(start, reader, limits) }
        }
        var names = Set<String>()
        entries.reserveCapacity(tensors)
        for _ in 0..<tensors {
            let start = reader.position
            let entry = try entry(&reader, limits)
            guard names.insert(entry.name).inserted else {
                throw reader.error("the tensor \(quoted(entry.name)) occurs twice", at: start)
            }
            entries.append(entry)
        }
        end = reader.position
    }

    private static func counts(
        _ reader: inout ByteReader, _ limits: GGUFFile.Limits
    ) throws(FormatError) -> (tensors: Int, pairs: Int) {
        guard reader.remaining >= 24 else {
            throw reader.error("the file has \(reader.remaining) bytes, but a GGUF file starts with 24 bytes of counts")
        }
        guard try reader.bytes(4).withBytes({ Array($0) }) == GGUFFile.magic else {
            throw reader.error("a GGUF file starts with \"GGUF\"", at: 0)
        }
        let version = try reader.integer(UInt32.self)
        guard version == 2 || version == 3 else {
            let isSwapped = (1...3).contains(version.byteSwapped)
            throw reader.error(
                isSwapped
                    ? "the file is big-endian; only little-endian files are read"
                    : "version \(version) of GGUF is not supported, expected 2 or 3", at: 4)
        }
        // The smallest entry of a tensor has 24 bytes, the smallest pair 13.
        do {
            let tensors = try reader.natural(
                "the number of tensors", in: 0...min(limits.tensors, reader.remaining / 24))
            let pairs = try reader.natural("the number of keys", in: 0...min(limits.pairs, reader.remaining / 13))
            return (tensors, pairs)
        } catch {
            var error = error
            error.reason += ", for the rest of the file holds no more: it is truncated, or damaged; get it again"
            throw error
        }
    }

    private mutating func takeAlignment(
        _ position: Int, _ reader: ByteReader, _ limits: GGUFFile.Limits
    ) throws(FormatError) {
        guard case .uint32(let number)? = metadata.last?.value, number > 0, number & (number - 1) == 0,
            number <= limits.alignment
        else {
            throw reader.error(
                "\(GGUFFile.alignmentKey) has to be a power of two of at most \(limits.alignment), of type u32",
                at: position)
        }
        alignment = Int(number)
    }

    private func entry(_ reader: inout ByteReader, _ limits: GGUFFile.Limits) throws(FormatError) -> Entry {
        let start = reader.position
        let name = try reader.gguf("a tensor's name", atMost: limits.nameBytes)
        guard !name.isEmpty, !name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw reader.error("the tensor's name \(quoted(name)) is empty or has a control character", at: start)
        }
        func rejected(_ reason: String) -> FormatError {
            FormatError(file: file, location: .tensor(name, index: nil), reason: reason)
        }
        let rank = try reader.integer(UInt32.self)
        guard rank <= limits.rank else { throw rejected("it has \(rank) dimensions, at most \(limits.rank) are read") }
        var dimensions: [Int] = []
        for _ in 0..<rank { dimensions.insert(try reader.natural("a dimension", in: 0...1 << 48), at: 0) }
        let number = try reader.integer(UInt32.self)
        guard let type = GGMLType.numbered(number) else { throw rejected("there is no type \(number) of tensors") }
        let shape = Shape(dimensions)
        guard shape.checkedCount != nil else { throw rejected("the size of shape \(shape) overflows") }
        guard (dimensions.last ?? 1) % type.elements == 0 else {
            throw rejected(
                "its rows of \(dimensions.last ?? 1) weights are not whole blocks of \(type.elements), as \(type.name) "
                    + "has them")
        }
        guard let byteCount = type.byteCount(shape) else {
            throw rejected("the size of shape \(shape) of \(type.name) overflows")
        }
        return Entry(
            name: name, type: type, shape: shape, byteCount: byteCount, offset: try reader.natural("an offset"))
    }

    /// Checks that the tensors follow each other, each at the next aligned offset, as ggml requires it.
    func tensors(in bytes: ByteView) throws(FormatError) -> [GGUFTensor] {
        guard !entries.isEmpty else { return [] }
        func aligned(_ count: Int) -> Int { count + (alignment - count % alignment) % alignment }
        let start = aligned(end)
        var (position, tensors) = (0, [GGUFTensor]())
        for entry in entries {
            func rejected(_ reason: String) -> FormatError {
                FormatError(file: file, location: .tensor(entry.name, index: nil), reason: reason)
            }
            guard entry.offset == position else {
                throw rejected("its offset is \(entry.offset), but the tensor before it ends at \(position)")
            }
            guard start <= bytes.count, entry.byteCount <= bytes.count - start - position else {
                throw rejected(
                    "its \(entry.byteCount) bytes start at byte \(start + position), but the file has \(bytes.count)")
            }
            let first = start + position
            tensors.append(
                GGUFTensor(
                    name: entry.name, type: entry.type, shape: entry.shape,
                    bytes: bytes[first..<first + entry.byteCount])
            )
            // The padding after the last tensor may be missing.
            position = min(aligned(position + entry.byteCount), bytes.count - start)
        }
        guard bytes.count - start - position < alignment else {
            throw FormatError(
                file: file, location: .offset(UInt64(start + position)),
                reason: "\(bytes.count - start - position) bytes at the end of the file belong to no tensor")
        }
        return tensors
    }
}
