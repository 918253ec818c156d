public import AccelByteIO

/// Writes a safetensors file. The tensors have to be announced, because the header comes first; then their bytes are
/// appended. The file appears when `finish` succeeds.
public struct SafetensorsWriter: ~Copyable {
    /// A tensor to be written.
    public struct Entry: Sendable {
        /// The name, unique in the file.
        public var name: String
        /// The element type.
        public var elementType: ElementType
        /// The shape, which determines the number of bytes.
        public var shape: Shape
        /// Creates the announcement of a tensor.
        public init(name: String, elementType: ElementType, shape: Shape) {
            self.name = name
            self.elementType = elementType
            self.shape = shape
        }
    }

    private var file: AtomicFile
    private let path: String
    private let dataStart: Int
    private let names: [String]
    /// The end of each entry's bytes, relative to `dataStart`.
    private let ends: [Int]

    /// Starts a file.
    /// - Parameters:
    ///   - kind: the content of the file, which decides what it may replace.
    ///   - entries: the tensors in the order in which their bytes are appended. All tensors are aligned if larger
    ///     element types come first.
    ///   - metadata: members of `__metadata__` in addition to those of the kind.
    ///   - isListed: `finishListed` will ask for the digest, which is computed while the file is written.
    /// - Throws: `RequestError` if `SafetensorsFile` would reject the header.
    public init(
        replacing path: String, as kind: TensorFileKind, entries: [Entry],
        metadata: [(key: String, value: String)] = [],
        isListed: Bool = false
    ) throws {
        let header: (bytes: [UInt8], ends: [Int])
        do {
            header = try Self.header(of: entries, kind.metadata + metadata)
        } catch {
            throw RequestError("cannot write \(path): \(error.description)")
        }
        var file = try AtomicFile(
            replacing: path, as: kind.output, isLarge: (header.ends.last ?? 0) > 1 << 26, isListed: isListed)
        try file.write(ByteView([UInt64(header.bytes.count).littleEndian]))
        try file.write(ByteView(header.bytes))
        self.path = path
        names = entries.map(\.name)
        ends = header.ends
        dataStart = file.count
        self.file = file
    }

    private static func header(
        of entries: [Entry], _ metadata: [(key: String, value: String)]
    ) throws(RequestError) -> (bytes: [UInt8], ends: [Int]) {
        let limits = SafetensorsFile.Limits()
        guard entries.count <= limits.tensors else { throw RequestError("more than \(limits.tensors) tensors") }
        guard Set(metadata.map(\.key)).count == metadata.count else {
            throw RequestError("a metadata key occurs twice")
        }
        var members: [JSON.Member] = []
        if !metadata.isEmpty {
            members.append(
                JSON.Member("__metadata__", .object(metadata.map { JSON.Member($0.key, .string($0.value)) })))
        }
        var seen = Set<String>(["__metadata__"])
        var ends: [Int] = []
        for entry in entries {
            if let flaw = SafetensorsHeader.flaw(ofName: entry.name, limits) { throw RequestError(flaw) }
            guard seen.insert(entry.name).inserted else {
                throw RequestError("the tensor name \(quoted(entry.name)) occurs twice or is reserved")
            }
            guard entry.shape.rank <= limits.rank else {
                throw RequestError("tensor \(quoted(entry.name)) has more than \(limits.rank) dimensions")
            }
            let begin = ends.last ?? 0
            guard let count = entry.shape.checkedCount,
                case let (bytes, overflow) = count.multipliedReportingOverflow(by: entry.elementType.byteCount),
                !overflow,
                case let (end, carry) = begin.addingReportingOverflow(bytes), !carry
            else { throw RequestError("the size of tensor \(quoted(entry.name)) overflows") }
            ends.append(end)
            members.append(
                JSON.Member(
                    entry.name,
                    [
                        "dtype": .string(entry.elementType.rawValue),
                        "shape": .array(entry.shape.dimensions.map { .integer(Int64($0)) }),
                        "data_offsets": .array([.integer(Int64(begin)), .integer(Int64(end))]),
                    ]))
        }
        // Padded with spaces, so that the tensors' bytes start at a multiple of 64.
        var header = Array(JSON.object(members).text().utf8)
        header.append(contentsOf: repeatElement(UInt8(ascii: " "), count: (120 - header.count % 64) % 64))
        guard header.count <= limits.headerBytes else {
            throw RequestError("the header would have \(header.count) bytes; at most \(limits.headerBytes) are read")
        }
        return (header, ends)
    }

    /// Appends the bytes of the next entry, or a part of them.
    /// - Throws: `RequestError` (internal failure) for more bytes than announced.
    public mutating func append(_ bytes: UnsafeRawBufferPointer) throws {
        guard bytes.count <= dataStart + (ends.last ?? 0) - file.count else {
            throw RequestError(
                "cannot write \(path): more bytes than the announced tensors have", status: .internalFailure)
        }
        try file.write(bytes)
    }

    /// Completes and publishes the file.
    /// - Throws: `RequestError` if bytes are missing.
    public consuming func finish() throws { _ = try finishListed() }

    /// Completes and publishes the file.
    /// - Returns: the `TreeDigest` of its bytes; nil unless the file `isListed`.
    /// - Throws: `RequestError` if bytes are missing.
    public consuming func finishListed() throws -> Digest? {
        let written = file.count - dataStart
        if let missing = ends.firstIndex(where: { $0 > written }) {
            throw RequestError(
                "cannot write \(path): the bytes of tensor \(quoted(names[missing])) are missing",
                status: .internalFailure)
        }
        return try file.commitListed()
    }

    /// Writes a file with all of `tensors`: larger element types first, then by name, as the reference implementation
    /// does.
    /// - Returns: the `TreeDigest` of its bytes; nil unless the file `isListed`.
    @discardableResult
    public static func write(
        _ tensors: [StoredTensor], to path: String, as kind: TensorFileKind,
        metadata: [(key: String, value: String)] = [], isListed: Bool = false
    ) throws -> Digest? {
        let (tensors, entries) = ordered(tensors)
        var writer = try SafetensorsWriter(
            replacing: path, as: kind, entries: entries, metadata: metadata, isListed: isListed)
        for tensor in tensors {
            try tensor.bytes.withBytes { (bytes: UnsafeRawBufferPointer) throws in try writer.append(bytes) }
        }
        return try writer.finishListed()
    }

    /// Returns the content of the file that `write` writes, in parts.
    /// - Throws: `RequestError` if `SafetensorsFile` would reject the header.
    public static func parts(
        _ tensors: [StoredTensor], metadata: [(key: String, value: String)] = []
    ) throws(RequestError) -> [ByteView] {
        let (tensors, entries) = ordered(tensors)
        let header = try header(of: entries, metadata).bytes
        return [ByteView([UInt64(header.count).littleEndian]), ByteView(header)] + tensors.map(\.bytes)
    }

    private static func ordered(_ tensors: [StoredTensor]) -> (tensors: [StoredTensor], entries: [Entry]) {
        let sorted = tensors.map {
            (tensor: $0, entry: Entry(name: $0.name, elementType: $0.elementType, shape: $0.shape))
        }
        .sorted { isOrdered($0.entry, $1.entry) }
        return (sorted.map(\.tensor), sorted.map(\.entry))
    }

    /// Returns whether a tensor comes before another one in files of `write`.
    package static func isOrdered(_ left: Entry, _ right: Entry) -> Bool {
        left.elementType.byteCount != right.elementType.byteCount
            ? left.elementType.byteCount > right.elementType.byteCount : left.name < right.name
    }
}
