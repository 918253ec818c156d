import ByteIO
import Tensors
import WeightCompression

/// Writes weights-NNNN.bin one section after the other; equal sections once. Only digests stay in memory.
struct BlobWriter: ~Copyable {
    private static let groupBytes = 16 << 20
    private let folder: String
    private let maximumBytes: Int
    private var current: AtomicFile?
    private var offset = 0
    private(set) var blobCount = 0
    /// Of the finished blobs.
    private var byteCounts: [Int] = []
    private(set) var sections: [Section] = []
    private var indices: [Digest: Int] = [:]
    /// Sections that are views into the blobs, by where they are mapped. The views keep the places from other uses.
    private var mapped: [Place: (index: Int, view: ByteView)] = [:]

    init(folder: String, maximumBytes: Int = PackageFormat.maximumBlobBytes) {
        self.folder = folder
        self.maximumBytes = maximumBytes
    }

    /// The index of the section that holds each of these contents; those that are not there already are written now.
    mutating func indices(of contents: [ByteView]) throws -> [Int] {
        let known = contents.map { mapped[Place($0)]?.index }
        let groups = Self.groups(zip(contents, known).filter { $1 == nil }.map(\.0))
        let threads = Parallel.processorCount
        var written: [Int] = []
        var digests = try TreeDigest.digests(of: groups.first ?? [], threads: threads)
        for (group, next) in zip(groups, groups.dropFirst() + [[]]) {
            // The disk and the processor have work at the same time.
            digests = try Parallel.alongside(threads: threads) {
                try TreeDigest.digests(of: next, threads: threads)
            } _: {
                for (content, digest) in zip(group, digests) { written.append(try write(content, digest)) }
            }.1
        }
        var rest = written[...]
        return known.map { $0 ?? rest.removeFirst() }
    }

    /// Contents that are hashed together, since many are hashed faster than one by one.
    private static func groups(_ contents: [ByteView]) -> [[ByteView]] {
        var groups: [[ByteView]] = []
        var room = 0
        for content in contents {
            if room <= 0 {
                groups.append([])
                room = groupBytes
            }
            groups[groups.count - 1].append(content)
            room -= content.count
        }
        return groups
    }

    private mutating func write(_ content: ByteView, _ digest: Digest) throws -> Int {
        // Empty content equals other empty content only: SHA-256 tells lengths apart.
        if let index = indices[digest] { return index }
        // A section that is larger than a blob may be gets a blob of its own.
        if blobCount == 0 || (offset > 0 && offset > maximumBytes - content.count) {
            try finishBlob()
            current = try AtomicFile(
                replacing: "\(folder)/\(PackageFormat.blobName(blobCount))", isSynced: false, isLarge: true)
            blobCount += 1
            offset = 0
        }
        try current?.write(content)
        sections.append(Section(blob: blobCount - 1, offset: offset, byteCount: content.count, digest: digest))
        indices[digest] = sections.count - 1
        try current?.pad(to: PackageFormat.sectionAlignment)
        offset = current?.count ?? 0
        return sections.count - 1
    }

    /// Writes the sections of tensors now.
    /// - Returns: the tensors as they lie in the blobs, so that their memory can be let go.
    mutating func keep(_ tensors: [CompressedTensor]) throws -> [CompressedTensor] {
        var indices = try indices(of: tensors.flatMap(\.sections))[...]
        var maps: [Int: ByteView] = [:]
        return try tensors.map { tensor in
            let views = try indices.prefix(tensor.sections.count).map { index in
                let section = sections[index]
                let map = try maps[section.blob] ?? content(ofBlob: section.blob)
                maps[section.blob] = map
                let view = map[section.offset..<section.offset + section.byteCount]
                mapped[Place(view)] = (index, view)
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

    /// Call once after the last section.
    mutating func finishBlob() throws {
        guard let file = current.take() else { return }
        try file.commit()
        byteCounts.append(offset)
    }

    /// The finished blobs, for the manifest.
    var files: [Manifest.File] {
        byteCounts.enumerated().map { index, count in
            Manifest.File(
                name: PackageFormat.blobName(index), byteCount: count, digest: sections.digest(ofBlob: index))
        }
    }
}

/// Where bytes are in memory.
struct Place: Hashable {
    let start: UInt
    let count: Int
    init(_ bytes: ByteView) {
        start = bytes.withBytes { UInt(bitPattern: $0.baseAddress) }
        count = bytes.count
    }
}
