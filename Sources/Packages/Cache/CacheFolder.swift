import ByteIO

/// The cache's files. Content-addressed blobs and records that name them; a record is written after its blobs, so what
/// a reader finds is whole, or is missing something and counts for nothing.
///
/// Nothing is synced to the disk: after a power cut a file may be short or zeroed, but every content is verified when it
/// is first used after a start of the system.
struct CacheFolder: Sendable {
    /// A new layout gets a new folder beside this one, and leaves it alone.
    static let layout = 1
    static let layoutName = "v\(layout)"

    let root: String
    private var top: String { "\(root)/\(Self.layoutName)" }

    var blobsPath: String { "\(top)/cas" }
    var recordsPath: String { "\(top)/ac" }
    var memosPath: String { "\(top)/memo" }
    var verifiedPath: String { "\(top)/verified" }
    var quarantinePath: String { "\(top)/quarantine" }

    func blobPath(_ digest: Digest) -> String { Self.path(blobsPath, digest) }
    func recordPath(_ key: Digest) -> String { Self.path(recordsPath, key) }
    func memoPath(_ name: Digest) -> String { Self.path(memosPath, name) }

    private static func path(_ folder: String, _ digest: Digest) -> String {
        let name = digest.description
        return "\(folder)/\(name.prefix(2))/\(name)"
    }

    /// Makes what tells people and backup programs what this folder is.
    func prepare() throws {
        try Files.makeFolder(top)
        try writeOnce("\(top)/format.json", #"{"layout":\#(Self.layout),"min_reader":1}"# + "\n")
        try writeOnce(
            "\(root)/CACHEDIR.TAG",
            """
            Signature: 8a477f597d28d172789f06886806bc55
            # This file marks a cache folder of accelc: see https://bford.info/cachedir/

            """)
        try writeOnce(
            "\(root)/README",
            """
            accelc keeps here what conversions can use again. All of it can be removed at any time, best with
            `accelc cache clear`; `accelc cache gc` removes what has not been used for long. \(Self.layoutName)/ is the layout
            of this version: cas/ holds contents by their SHA-256, ac/ says which conversion had which contents.

            """)
    }

    private func writeOnce(_ path: String, _ text: String) throws {
        guard Files.kind(of: path) == nil else { return }
        var file = try AtomicFile(replacing: path, isSynced: false)
        try file.write(text)
        try file.commit()
    }

    /// Why this tool cannot use what is there; nil when it can.
    func objection() -> String? {
        let path = "\(top)/format.json"
        guard Files.kind(of: path) != nil else { return nil }
        let minimum = try? JSONField(JSON.read(path), file: path)["min_reader"].int()
        guard let minimum, minimum <= 1 else {
            return "\(path) asks for a newer accelc; the cache is left alone"
        }
        return nil
    }

    /// Keeps content, one part after the other.
    func putBlob(_ parts: [ByteView]) throws -> CacheRecord.File {
        var hash = SHA256()
        for part in parts { part.withBytes { hash.update($0) } }
        let digest = hash.finalize()
        let size = parts.reduce(0) { $0 + $1.count }
        let path = blobPath(digest)
        if !hasBlob(path, size: size) {
            try Files.makeFolder(Files.parentFolder(of: path) ?? root)
            var file = try AtomicFile(replacing: path, mode: 0o444, isSynced: false)
            for part in parts { try file.write(part) }
            try file.commit()
        }
        return CacheRecord.File(path: "", digest: digest, byteCount: size)
    }

    /// Keeps the content of a file, as a clone where the file system can.
    func putFile(_ source: String) throws -> CacheRecord.File {
        let content = try MappedFile(source).bytes
        let digest = SHA256.digest(of: content)
        let path = blobPath(digest)
        if !hasBlob(path, size: content.count) {
            try Files.makeFolder(Files.parentFolder(of: path) ?? root)
            let partial = try "\(Files.parentFolder(of: path) ?? root)/.\(Self.randomName()).partial"
            try Files.copy(source, to: partial, mode: 0o444, isSynced: false)
            try Files.rename(partial, to: path)
        }
        return CacheRecord.File(path: "", digest: digest, byteCount: content.count)
    }

    private static func randomName() throws -> String {
        (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 16) }.joined()
    }

    /// Whether the blob is there already; it counts as used now, so that it is not collected before its record is there.
    private func hasBlob(_ path: String, size: Int) -> Bool {
        guard Files.kindWithoutFollowing(path) == .file, Files.identity(of: path)?.size == Int64(size) else {
            return false
        }
        Files.touch(path)
        return true
    }

    func putRecord(_ record: CacheRecord) throws {
        let path = recordPath(record.key.digest)
        try Files.makeFolder(Files.parentFolder(of: path) ?? root)
        var file = try AtomicFile(replacing: path, isSynced: false)
        try file.write(record.encoded)
        try file.commit()
    }

    func record(_ key: Digest) throws(CacheMiss) -> CacheRecord {
        let path = recordPath(key)
        guard Files.kindWithoutFollowing(path) == .file else { throw CacheMiss(.noRecord) }
        let record: CacheRecord
        do {
            record = try CacheRecord(try MappedFile(path).bytes, file: path)
        } catch {
            throw CacheMiss(.malformedRecord("\(error)"))
        }
        guard record.key.digest == key else { throw CacheMiss(.malformedRecord("it is the record of another key")) }
        return record
    }

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
        if file.byteCount > Self.alwaysVerifiedBytes, isVerified(file.digest) { return content }
        guard SHA256.digest(of: content) == file.digest else {
            quarantine(blobPath(file.digest), reason: "its bytes do not have the digest that is its name")
            throw CacheMiss(.wrongBytes(file.digest))
        }
        if file.byteCount > Self.alwaysVerifiedBytes { noteVerified(file.digest) }
        return content
    }

    /// Blobs up to this size are verified at each use.
    private static let alwaysVerifiedBytes = 1 << 20

    private func notePath(_ digest: Digest) -> String? {
        Files.bootIdentifier.map { "\(verifiedPath)/\($0)/\(digest)" }
    }

    private func noteText(_ digest: Digest) -> String? {
        Files.identity(of: blobPath(digest)).map {
            "\($0.device) \($0.inode) \($0.size) \($0.modifiedNanoseconds)"
        }
    }

    private func isVerified(_ digest: Digest) -> Bool {
        guard let path = notePath(digest), let text = noteText(digest), let note = try? MappedFile(path).bytes else {
            return false
        }
        return note.withBytes { String(decoding: $0, as: UTF8.self) } == text
    }

    private func noteVerified(_ digest: Digest) {
        guard let path = notePath(digest), let text = noteText(digest) else { return }
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

    /// The files of a folder of two-digit folders: their digests, sorted; and the paths of what should not be there.
    func entries(in folder: String) -> (digests: [Digest], strays: [String]) {
        var digests: [Digest] = []
        var strays: [String] = []
        for shard in (try? Files.list(folder)) ?? [] {
            for name in (try? Files.list("\(folder)/\(shard)")) ?? [] {
                if let digest = Digest(hexadecimal: name), name.prefix(2) == shard {
                    digests.append(digest)
                } else {
                    strays.append("\(folder)/\(shard)/\(name)")
                }
            }
        }
        return (digests, strays)
    }
}
