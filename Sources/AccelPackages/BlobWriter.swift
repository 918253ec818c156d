import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// Writes weights-NNNN.bin section by section, equal sections once. Only digests stay in memory.
struct BlobWriter: ~Copyable {
    private static let groupBytes = 16 << 20
    private let folder: String
    private(set) var layout: BlobLayout
    private var current: AtomicFile?
    private var blobCount = 0
    /// Sections that are mapped from the blobs, by their address. The views keep the addresses from being reused.
    private var mapped: [MemoryRange: (index: Int, view: ByteView)] = [:]

    init(folder: String, maximumBytes: Int = PackageFormat.maximumBlobBytes) {
        self.folder = folder
        layout = BlobLayout(maximumBytes: maximumBytes)
    }

    /// Returns the index of the section of each content; sections that do not exist yet are written.
    mutating func indices(of contents: [ByteView]) throws -> [Int] {
        let known = contents.map { mapped[MemoryRange($0)]?.index }
        let groups = Self.groups(zip(contents, known).filter { $1 == nil }.map(\.0))
        let threads = Parallel.processorCount
        var written: [Int] = []
        var digests = try TreeDigest.digests(of: groups.first ?? [], threads: threads)
        for (group, next) in zip(groups, groups.dropFirst() + [[]]) {
            // The disk and the processor work at the same time.
            digests = try Parallel.alongside(threads: threads) {
                try TreeDigest.digests(of: next, threads: threads)
            } _: {
                for (content, digest) in zip(group, digests) { written.append(try write(content, digest)) }
            }.1
        }
        var rest = written[...]
        return known.map { $0 ?? rest.removeFirst() }
    }

    /// Groups contents that are hashed together, which is faster than one by one.
    private static func groups(_ contents: [ByteView]) -> [[ByteView]] {
        var groups: [[ByteView]] = []
        var remaining = 0
        for content in contents {
            if remaining <= 0 {
                groups.append([])
                remaining = groupBytes
            }
            groups[groups.count - 1].append(content)
            remaining -= content.count
        }
        return groups
    }

    private mutating func write(_ content: ByteView, _ digest: Digest) throws -> Int {
        let (index, isNew) = layout.place(byteCount: content.count, digest: digest)
        guard isNew else { return index }
        if layout.sections[index].blob == blobCount {
            try finishBlob()
            current = try AtomicFile(
                replacing: "\(folder)/\(PackageFormat.blobName(blobCount))", as: .internal, isSynced: false,
                isLarge: true)
            blobCount += 1
        }
        try current?.write(content)
        try current?.pad(to: PackageFormat.sectionAlignment)
        return index
    }

    /// Writes the sections of tensors.
    /// - Returns: The tensors with sections mapped from the blobs, so that their memory can be freed.
    mutating func keep(_ tensors: [CompressedTensor]) throws -> [CompressedTensor] {
        var indices = try indices(of: tensors.flatMap(\.sections))[...]
        var maps: [Int: ByteView] = [:]
        return try tensors.map { tensor in
            let views = try indices.prefix(tensor.sections.count).map { index in
                let section = layout.sections[index]
                let map = try maps[section.blob] ?? content(ofBlob: section.blob)
                maps[section.blob] = map
                let view = map[section.offset..<section.offset + section.byteCount]
                mapped[MemoryRange(view)] = (index, view)
                return view
            }
            indices = indices.dropFirst(tensor.sections.count)
            return try CompressedTensor(
                name: tensor.name, elementType: tensor.elementType, shape: tensor.shape, codec: tensor.codec,
                sections: views)
        }
    }

    private mutating func content(ofBlob index: Int) throws -> ByteView {
        if index == blobCount - 1, let content = try current?.mapped() { return content }
        return try MappedFile("\(folder)/\(PackageFormat.blobName(index))").bytes
    }

    /// Completes the current blob. To be called once after the last section.
    mutating func finishBlob() throws {
        guard let file = current.take() else { return }
        try file.commit()
    }
}

/// Where bytes are: an address range in memory, or a range of bytes that are computed when they are read.
struct MemoryRange: Hashable {
    private let owner: ObjectIdentifier?
    let start: UInt
    let count: Int
    var isDerived: Bool { owner != nil }

    init(_ bytes: ByteView) {
        (owner, start) = bytes.identity
        count = bytes.count
    }
}
