import ByteIO

/// Writes weights-NNNN.bin one section after the other; equal sections once. Only digests stay in memory.
struct BlobWriter: ~Copyable {
    private let folder: String
    private let maximumBytes: Int
    private var current: AtomicFile?
    private var offset = 0
    private(set) var blobCount = 0
    private(set) var sections: [Section] = []
    private var indices: [Digest: Int] = [:]

    init(folder: String, maximumBytes: Int = PackageFormat.maximumBlobBytes) {
        self.folder = folder
        self.maximumBytes = maximumBytes
    }

    /// The index of the section that holds these bytes, written now unless it is there already.
    mutating func index(of content: ByteView) throws -> Int {
        let digest = TreeDigest.digest(of: content)
        // Empty content equals other empty content only: SHA-256 tells lengths apart.
        if let index = indices[digest] { return index }
        // A section that is larger than a blob may be gets a blob of its own.
        if blobCount == 0 || (offset > 0 && offset > maximumBytes - content.count) {
            try finishBlob()
            current = try AtomicFile(replacing: "\(folder)/\(PackageFormat.blobName(blobCount))", isSynced: false)
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

    /// Call once after the last section.
    mutating func finishBlob() throws {
        if let file = current.take() { try file.commit() }
    }
}
