import AccelByteIO
import AccelPlatform

/// The folder of one repository in the cache, in the layout of Hugging Face's own library:
///
///     models--OWNER--NAME/blobs/ETAG              contents
///     models--OWNER--NAME/refs/REVISION           the commit of a branch or tag
///     models--OWNER--NAME/snapshots/COMMIT/PATH   relative links to blobs
///     models--OWNER--NAME/trees/COMMIT.json       the files of a commit, where that library has recorded them
///     models--OWNER--NAME/.accelc/COMMIT.json     the same, recorded by this module: that library reads a record as
///                                                 the claim that a snapshot is complete
///
/// Existing files are never replaced, except for the commit of a revision.
struct RepositoryCache: Sendable {
    private let folder: String
    private let locks: String

    init(root: String, _ reference: HubReference) {
        let name = "models--\(reference.owner)--\(reference.name)"
        (folder, locks) = ("\(root)/\(name)", "\(root)/.locks/\(name)")
    }

    // MARK: Revisions and listings

    /// Returns the commit of a branch or tag; nil if it is not recorded.
    func commit(of revision: String) -> String? {
        guard let text = Self.text(of: "\(folder)/refs/\(revision)", atMost: 1 << 10) else { return nil }
        let commit = text.split(whereSeparator: \.isWhitespace).first.map(String.init)
        return commit.flatMap { HubName.isCommit($0) ? $0 : nil }
    }

    /// Records the commit of a branch or tag.
    func setCommit(_ commit: String, of revision: String) throws {
        guard self.commit(of: revision) != commit else { return }
        try write(commit, to: "\(folder)/refs/\(revision)")
    }

    /// Returns the recorded files of a commit; nil without a readable record.
    func listing(of commit: String) -> HubListing? {
        for path in ["\(folder)/trees/\(commit).json", recordPath(commit)] where Files.kind(of: path) == .file {
            guard let document = try? JSON.read(path),
                let listing = try? HubListing(record: JSONField(document, file: path), commit: commit)
            else { continue }
            return listing
        }
        return nil
    }

    /// Records the files of a commit.
    func record(_ listing: HubListing) throws {
        guard self.listing(of: listing.commit) != listing else { return }
        try write(listing.record.text(), to: recordPath(listing.commit))
    }

    private func recordPath(_ commit: String) -> String { "\(folder)/.accelc/\(commit).json" }

    private func write(_ text: String, to path: String) throws {
        try failing(at: path) {
            try Files.makeFolder(Files.parentFolder(of: path) ?? "/")
            // Damaged after a power cut, it counts as missing.
            try AtomicFile.write(text, to: path, as: .internal, isSynced: false)
        }
    }

    private static func text(of path: String, atMost limit: Int) -> String? {
        guard Files.kind(of: path) == .file else { return nil }
        return (try? FileContent(path, atMost: limit))?.bytes.withBytes { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Snapshots

    /// Returns the folder of a commit's files.
    func snapshot(_ commit: String) -> String { "\(folder)/snapshots/\(commit)" }

    /// Returns whether a snapshot has a file.
    /// - Throws: `HubError` (`cacheFailure`) if the file has another size than the repository declares.
    func has(_ file: HubFile, at commit: String) throws(HubError) -> Bool {
        let path = "\(snapshot(commit))/\(file.path)"
        guard Files.kind(of: path) == .file else { return false }
        try Self.check(path, file)
        return true
    }

    /// Returns the path of a file in the snapshot, or of its blob; nil if the cache has neither.
    func path(of file: HubFile, at commit: String) throws(HubError) -> String? {
        if try has(file, at: commit) { return "\(snapshot(commit))/\(file.path)" }
        return file.digest.map(blobPath).flatMap { Files.kind(of: $0) == .file ? $0 : nil }
    }

    /// Returns the number of bytes that an earlier download of a file has left.
    func presentBytes(of file: HubFile) -> Int {
        guard let digest = file.digest, let limit = file.byteCount else { return 0 }
        let found = Files.identity(of: IncompleteBlob.path(forBlob: blobPath(digest)))?.size ?? 0
        return found <= limit ? Int(found) : 0
    }

    private static func check(_ path: String, _ file: HubFile) throws(HubError) {
        guard let expected = file.byteCount, let found = Files.identity(of: path)?.size, found != expected else {
            return
        }
        throw HubError(.cacheFailure, subject: path, expected: "\(expected) bytes", found: "\(found)")
    }

    /// Adds a file whose blob exists to a snapshot.
    /// - Returns: False if there is no such blob.
    func link(_ file: HubFile, at commit: String) throws -> Bool {
        guard let digest = file.digest, Files.kind(of: blobPath(digest)) == .file else { return false }
        try Self.check(blobPath(digest), file)
        let path = "\(snapshot(commit))/\(file.path)"
        try failing(at: path) { try Files.makeFolder(Files.parentFolder(of: path) ?? "/") }
        let depth = file.path.utf8.count { $0 == UInt8(ascii: "/") }
        let target = String(repeating: "../", count: depth + 2) + "blobs/\(digest.etag)"
        for _ in 0..<2 {
            if symlink(target, path) == 0 || Files.kind(of: path) == .file { return true }
            // A link whose blob was removed leads to nothing.
            guard Files.kindWithoutFollowing(path) == .link, Files.kind(of: path) == nil, unlink(path) == 0 else {
                break
            }
        }
        throw HubError(.cacheFailure, subject: path, expected: "a link to \(target)", found: systemMessage())
    }

    // MARK: Blobs

    private func blobPath(_ digest: ContentDigest) -> String { "\(folder)/blobs/\(digest.etag)" }

    /// Opens the file in which a blob is collected, with what an earlier download has left in it.
    func incomplete(_ digest: ContentDigest, byteCount: Int) throws -> IncompleteBlob {
        let path = blobPath(digest)
        try failing(at: path) { try Files.makeFolder("\(folder)/blobs") }
        return try IncompleteBlob(path, digest, byteCount: byteCount)
    }

    /// Runs `body` while no other process downloads the same blob, as Hugging Face's library does. File systems without locks
    /// are no obstacle: the digest shows whether two processes have written to one file.
    func locked<Result>(
        _ digest: ContentDigest, _ cancellation: Cancellation, _ body: () throws -> Result
    ) throws -> Result {
        let path = "\(locks)/\(digest.etag).lock"
        try failing(at: path) { try Files.makeFolder(locks) }
        let descriptor = FileDescriptor(open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o664))
        while descriptor.number >= 0, flock(descriptor.number, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { break }
            try cancellation.check()
            usleep(50_000)
        }
        return try withExtendedLifetime(descriptor) { try body() }
    }

    /// Returns the free bytes of the file system; nil if the system does not know.
    func freeBytes() -> Int? {
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return nil }
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return overflow ? nil : Int(exactly: bytes)
    }

    /// Runs `body`, whose errors become those of the cache.
    private func failing<Result>(at path: String, _ body: () throws -> Result) throws(HubError) -> Result {
        do {
            return try body()
        } catch {
            throw HubError(.cacheFailure, subject: path, expected: "a writable folder", found: "\(error)")
        }
    }
}
