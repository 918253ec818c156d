import ByteIO
import Tensors
import WeightCompression

/// Writes weights-NNNN.bin one section after the other; equal sections once. Only digests stay in memory.
struct BlobWriter: ~Copyable {
    private let folder: String
    private let maximumBytes: Int
    private var current: AtomicFile?
    private var offset = 0
    private(set) var blobCount = 0
    private(set) var sections: [Section] = []
    private var indices: [Digest: Int] = [:]
    /// Sections that are views into the blobs, by where they are mapped. The views keep the places from other uses.
    private var mapped: [Place: (index: Int, view: ByteView)] = [:]

    init(folder: String, maximumBytes: Int = PackageFormat.maximumBlobBytes) {
        self.folder = folder
        self.maximumBytes = maximumBytes
    }

    /// The index of the section that holds these bytes, written now unless it is there already.
    mutating func index(of content: ByteView) throws -> Int {
        if let known = mapped[Place(content)] { return known.index }
        let digest = try TreeDigest.digest(of: content, threads: Parallel.processorCount)
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

    /// Writes a tensor's sections now.
    /// - Returns: the tensor as it lies in the blobs, so that its memory can be let go.
    mutating func keep(_ tensor: CompressedTensor) throws -> CompressedTensor {
        let indices = try tensor.sections.map { try index(of: $0) }
        var maps: [Int: ByteView] = [:]
        let views = try indices.map { index in
            let section = sections[index]
            let map = try maps[section.blob] ?? content(ofBlob: section.blob)
            maps[section.blob] = map
            let view = map[section.offset..<section.offset + section.byteCount]
            mapped[Place(view)] = (index, view)
            return view
        }
        return try CompressedTensor(
            name: tensor.name, elementType: tensor.elementType, shape: tensor.shape, codec: tensor.codec,
            sections: views)
    }

    private mutating func content(ofBlob index: Int) throws -> ByteView {
        if index == blobCount - 1, let content = try current?.mapped() { return content }
        return try MappedFile("\(folder)/\(PackageFormat.blobName(index))").bytes
    }

    /// Call once after the last section.
    mutating func finishBlob() throws {
        if let file = current.take() { try file.commit() }
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
