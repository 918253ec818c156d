import AccelByteIO

/// The layout of a package's blobs: one section after the other in the order of arrival, equal sections once.
struct BlobLayout {
    private let maximumBytes: Int
    private(set) var sections: [Section] = []
    private var indices: [Digest: Int] = [:]
    /// The size of each blob, with the padding after its last section.
    private var byteCounts: [Int] = []

    init(maximumBytes: Int = PackageFormat.maximumBlobBytes) { self.maximumBytes = maximumBytes }

    /// Finds or adds a section.
    /// - Parameter digest: the `TreeDigest` of the content.
    /// - Returns: The index of the section with this content, and whether it is new.
    mutating func place(byteCount: Int, digest: Digest) -> (index: Int, isNew: Bool) {
        // Empty content can only equal other empty content.
        if let index = indices[digest] { return (index, false) }
        // A section that exceeds the limit of a blob gets its own blob.
        let fits = byteCounts.last.map { $0 == 0 || $0 <= maximumBytes - byteCount } ?? false
        if !fits { byteCounts.append(0) }
        let (blob, alignment) = (byteCounts.count - 1, PackageFormat.sectionAlignment)
        let section = Section(blob: blob, offset: byteCounts[blob], byteCount: byteCount, digest: digest)
        byteCounts[blob] = (section.offset + byteCount + alignment - 1) / alignment * alignment
        sections.append(section)
        indices[digest] = sections.count - 1
        return (sections.count - 1, true)
    }

    /// The blobs as files of the manifest.
    var files: [Manifest.File] {
        byteCounts.enumerated().map { index, count in
            Manifest.File(
                name: PackageFormat.blobName(index), byteCount: count, digest: sections.digest(ofBlob: index))
        }
    }
}
