import AccelByteIO

extension CacheFolder {
    /// Maps a blob after a check of its size. Its bytes are not read.
    func blob(_ file: CacheRecord.File) throws(CacheMiss) -> ByteView { try mappedBlob(file).bytes }

    private func mappedBlob(_ file: CacheRecord.File) throws(CacheMiss) -> MappedFile {
        guard let content = try opened(blobPath(file.digest)) else { throw CacheMiss(.missingBlob(file.digest)) }
        guard content.bytes.count == file.byteCount else {
            throw CacheMiss(.wrongSize(file.digest, expected: file.byteCount, found: content.bytes.count))
        }
        return content
    }

    /// Maps a blob, and compares its bytes with its name; a large one once a day unless it has changed. A changed blob
    /// is quarantined.
    func verifiedBlob(_ file: CacheRecord.File) throws(CacheMiss) -> ByteView {
        let content = try mappedBlob(file)
        guard isSound(content, file.digest) else {
            quarantine(content.path, reason: "its bytes do not have the digest that is its name")
            throw CacheMiss(.wrongBytes(file.digest))
        }
        return content.bytes
    }

    /// Returns whether a file has a digest, computed now or remembered.
    func isSound(_ file: MappedFile, _ digest: Digest) -> Bool {
        let isLarge = file.bytes.count > Self.alwaysVerifiedBytes && file.access.isOurs
        if isLarge, note(of: file.identity)?.digest == digest { return true }
        let synced = isLarge ? SyncedFile(file.path) : nil
        guard SHA256.digest(of: file.bytes) == digest else { return false }
        if let synced, synced.identity.inode == file.identity.inode, synced.isUnchanged {
            keep(VerificationNote(digest: digest, identity: synced.identity))
        }
        return true
    }

    /// Remembers that this process has just written a file with these bytes.
    func noteVerified(_ path: String, _ digest: Digest) {
        guard isOurs(path), let identity = Files.identity(of: path) else { return }
        keep(VerificationNote(digest: digest, identity: identity))
    }

    /// Runs an operation that renames, links or unlinks files but does not write them. That changes their status times,
    /// so their notes are renewed afterwards. A write by another process would also change the modification time.
    @discardableResult
    func keepingNotes<Result>(of files: [CacheRecord.File], _ body: () throws -> Result) rethrows -> Result {
        let notes = notes(of: files)
        defer { restore(notes) }
        return try body()
    }

    /// Returns the valid notes of files, with the paths of their blobs.
    func notes(of files: [CacheRecord.File]) -> [(path: String, note: VerificationNote)] {
        files.filter { $0.byteCount > Self.alwaysVerifiedBytes }.compactMap { file in
            Files.identity(of: blobPath(file.digest)).flatMap(note).map { (blobPath(file.digest), $0) }
        }
    }

    /// Renews notes of files of which only the status time has changed.
    func restore(_ notes: [(path: String, note: VerificationNote)]) {
        for (path, note) in notes {
            var note = note
            guard let identity = Files.identity(of: path), identity != note.identity else { continue }
            note.identity.changedNanoseconds = identity.changedNanoseconds
            if note.identity == identity { keep(note) }
        }
    }

    /// Returns whether only this user can write to a file. Otherwise it has no notes, and no links are handed out.
    func isOurs(_ path: String) -> Bool { Files.access(of: path)?.isOurs == true }

    /// The size up to which blobs are verified at every use.
    static let alwaysVerifiedBytes = 1 << 20

    private func note(of identity: FileIdentity) -> VerificationNote? {
        guard let path = notePath(identity), let bytes = (try? opened(path))?.bytes,
            let note = VerificationNote(bytes), note.identity == identity, note.counts
        else { return nil }
        return note
    }

    /// Returns the path of the note of a file, which all its hard links share.
    private func notePath(_ identity: FileIdentity) -> String? {
        let name = SHA256.digest(of: "\(identity.device) \(identity.inode)")
        return Files.bootIdentifier.map { "\(path(.verified))/\($0)/\(name)" }
    }

    /// Stores a note. If that fails, the file is verified again later.
    func keep(_ note: VerificationNote) {
        guard let path = notePath(note.identity) else { return }
        try? makeParent(of: path)
        try? AtomicFile.write(note.text, to: path, as: .internal, isSynced: false)
    }

    /// Quarantines a damaged record or blob, with the reason in a file beside it.
    func quarantine(_ path: String, reason: String) {
        try? makeFolder(quarantinePath)
        guard let digest = Digest(hexadecimal: Files.name(of: path)) else { return }
        let target = "\(quarantinePath)/\(CacheNames.quarantined(digest))"
        guard (try? Files.rename(path, to: target)) != nil else { return }
        let document: JSON = ["file": .string(path), "reason": .string(reason)]
        try? AtomicFile.write(document.text() + "\n", to: "\(target).json", as: .internal, isSynced: false)
    }
}
