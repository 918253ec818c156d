import ByteIO

extension CacheFolder {
    /// Maps a blob of the right size. Its bytes are not read.
    func blob(_ file: CacheRecord.File) throws(CacheMiss) -> ByteView {
        let path = blobPath(file.digest)
        guard Files.kindWithoutFollowing(path) == .file, let content = try? MappedFile(path).bytes else {
            throw CacheMiss(.missingBlob(file.digest))
        }
        guard content.count == file.byteCount else {
            throw CacheMiss(.wrongSize(file.digest, expected: file.byteCount, found: content.count))
        }
        return content
    }

    /// Maps a blob and compares its bytes with its name; a large one at the first use since the system was started.
    /// A blob that has changed goes into quarantine.
    func verifiedBlob(_ file: CacheRecord.File) throws(CacheMiss) -> ByteView {
        let content = try blob(file)
        guard isSound(content, file.digest, at: blobPath(file.digest)) else {
            quarantine(blobPath(file.digest), reason: "its bytes do not have the digest that is its name")
            throw CacheMiss(.wrongBytes(file.digest))
        }
        return content
    }

    /// Whether bytes have a digest: computed, or known from an earlier time since the system was started.
    func isSound(_ content: ByteView, _ digest: Digest, at path: String) -> Bool {
        let isLarge = content.count > Self.alwaysVerifiedBytes
        if isLarge, isVerified(path) { return true }
        guard SHA256.digest(of: content) == digest else { return false }
        if isLarge { noteVerified(path) }
        return true
    }

    /// Blobs up to this size are verified at each use.
    private static let alwaysVerifiedBytes = 1 << 20

    private func notePath(_ path: String) -> String? {
        let name = path.hasPrefix("\(top)/") ? String(path.dropFirst(top.count + 1)) : path
        return Files.bootIdentifier.map { "\(verifiedPath)/\($0)/\(SHA256.digest(of: name))" }
    }

    private func noteText(_ path: String) -> String? {
        Files.identity(of: path).map { "\($0.device) \($0.inode) \($0.size) \($0.modifiedNanoseconds)" }
    }

    private func isVerified(_ path: String) -> Bool {
        guard let text = noteText(path), let path = notePath(path), let note = try? MappedFile(path).bytes else {
            return false
        }
        return note.withBytes { String(decoding: $0, as: UTF8.self) } == text
    }

    func noteVerified(_ path: String) {
        guard let text = noteText(path), let path = notePath(path) else { return }
        // A note that cannot be written costs a verification later.
        try? Files.makeFolder(Files.parentFolder(of: path) ?? root)
        guard var file = try? AtomicFile(replacing: path, isSynced: false) else { return }
        guard (try? file.write(text)) != nil else { return }
        try? file.commit()
    }

    /// Takes a damaged file out of use, and says why beside it.
    func quarantine(_ path: String, reason: String) {
        try? Files.makeFolder(quarantinePath)
        let target = "\(quarantinePath)/\(String(UInt64.random(in: .min ... .max), radix: 16))-\(Files.name(of: path))"
        guard (try? Files.rename(path, to: target)) != nil else { return }
        let document: JSON = ["file": .string(path), "reason": .string(reason)]
        guard var note = try? AtomicFile(replacing: "\(target).json", isSynced: false) else { return }
        guard (try? note.write(document.text() + "\n")) != nil else { return }
        try? note.commit()
    }
}
