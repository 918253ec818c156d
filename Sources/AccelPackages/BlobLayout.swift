import AccelByteIO

/// Where stored bytes lie in a package's blobs: one section after the other in the order in which they come, equal ones
/// once.
struct BlobLayout {
    private let maximumBytes: Int
    private(set) var sections: [Section] = []
    private var indices: [Digest: Int] = [:]
    /// Of each blob, with the padding after its last section.
    private var byteCounts: [Int] = []

    init(maximumBytes: Int = PackageFormat.maximumBlobBytes) { self.maximumBytes = maximumBytes }

    /// - Parameter digest: `TreeDigest` of the content.
    /// - Returns: the index of the section that holds the content, and whether it is a new one.
    mutating func place(byteCount: Int, digest: Digest) -> (index: Int, isNew: Bool) {
        // Empty content equals other empty content only: SHA-256 tells lengths apart.
        if let index = indices[digest] { return (index, false) }
        // A section that is larger than a blob may be gets a blob of its own.
        let fits = byteCounts.last.map { $0 == 0 || $0 <= maximumBytes - byteCount } ?? false
        if !fits { byteCounts.append(0) }
        let (blob, alignment) = (byteCounts.count - 1, PackageFormat.sectionAlignment)
        let section = Section(blob: blob, offset: byteCounts[blob], byteCount: byteCount, digest: digest)
        byteCounts[blob] = (section.offset + byteCount + alignment - 1) / alignment * alignment
        sections.append(section)
        indices[digest] = sections.count - 1
        return (sections.count - 1, true)
    }

    /// The blobs, for the manifest.
    var files: [Manifest.File] {
        byteCounts.enumerated().map { index, count in
            Manifest.File(
                name: PackageFormat.blobName(index), byteCount: count, digest: sections.digest(ofBlob: index))
        }
    }
}
