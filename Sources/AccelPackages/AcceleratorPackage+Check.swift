public import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension AcceleratorPackage {
    /// Reads every byte of the package, compares it with its digest, and rejects files that the manifest does not list.
    /// - Parameters:
    ///   - includesReport: false if a new parity report is about to replace the existing one.
    ///   - progress: called with the name of each file before it is read.
    /// - Throws: `FormatError` naming the first file, in the order of names, that is wrong; `CancellationError` once the
    ///   task that it runs in is cancelled.
    public func check(includesReport: Bool = true, progress: (_ file: String) -> Void = { _ in }) throws {
        // Its digest is that of the package, and was compared when the package was opened.
        progress(PackageFormat.manifestName)
        try checkNames()
        for file in manifest.files {
            progress(file.name)
            if let index = manifest.blobs.firstIndex(of: file) {
                try checkBlob(index)
            } else {
                _ = try Self.checkedContent(of: file.name, manifest, files)
            }
        }
        try checkClaims()
        if includesReport { _ = try report }
    }

    /// The number of files that `check` reads: the manifest and those that it lists.
    package var checkedFileCount: Int { manifest.files.count + 1 }

    /// Rejects files that the manifest does not list.
    func checkNames() throws {
        let listed = Set(manifest.files.map(\.name) + [PackageFormat.manifestName, PackageFormat.reportName])
        for name in try files.names() where !listed.contains(name) {
            throw FormatError(file: files.describe(name), reason: "the manifest does not list this file; remove it")
        }
    }

    /// Compares the sections of a blob with their digests, and checks the padding between them.
    private func checkBlob(_ index: Int) throws {
        let file = files.describe(manifest.blobs[index].name)
        let blob = blobs[index]
        let sections = sections.filter { $0.blob == index }
        let contents = sections.map { blob[$0.offset..<$0.offset + $0.byteCount] }
        let digests = try TreeDigest.digests(of: contents, threads: Parallel.processorCount)
        for (content, (section, found)) in zip(contents, zip(sections, digests)) where found != section.digest {
            let weight = graph.tensors.first { $0.sections.contains { MemoryRange($0) == MemoryRange(content) } }
            throw FormatError(
                file: file, location: weight.map { .tensor($0.name, index: nil) } ?? .offset(UInt64(section.offset)),
                reason: "expected the digest \(section.digest), found \(found): its bytes were changed; "
                    + PackageFormat.damageAdvice)
        }
        let ends = sections.map { $0.offset + $0.byteCount }
        for (end, next) in zip(ends, sections.map(\.offset).dropFirst() + [blob.count]) {
            let padding = blob[end..<next].withBytes { $0.firstIndex { $0 != 0 } }
            guard let padding else { continue }
            throw FormatError(
                file: file, location: .offset(UInt64(end + padding)),
                reason: "expected a zero between two sections; \(PackageFormat.damageAdvice)")
        }
    }
}

/// The latest parity report of a package, stored beside it and bound to its digest.
extension AcceleratorPackage {
    /// The report; nil if there is none. It is not part of the package digest.
    /// - Throws: `FormatError` if it is damaged, or the report of another package.
    public var report: JSON? {
        get throws {
            guard try files.names().contains(PackageFormat.reportName) else { return nil }
            let report: PackageReport
            do {
                report = try PackageReport(files)
            } catch var error as FormatError {
                error.reason += "; move the file away, and accelc verify writes a new one"
                throw error
            }
            guard report.package == digest else {
                throw report.document["package"].error(
                    "this report is of the package \(report.package), not of \(digest); run verify again")
            }
            return report.document["report"].value
        }
    }

    /// Stores a report in the package's folder, and replaces the previous one.
    /// - Throws: `RequestError` for a zip archive, or a folder that cannot be written.
    public func store(report: JSON) throws {
        guard files is PackageFolder else {
            throw RequestError("\(path) is an archive, which cannot hold a report; write the report to a file")
        }
        let document: JSON = ["package": .string(digest.description), "report": report]
        try AtomicFile.write(
            SealedDocument.text(of: document), to: files.describe(PackageFormat.reportName), as: .packageReport)
    }
}
