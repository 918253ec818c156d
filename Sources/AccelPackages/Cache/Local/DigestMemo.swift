import AccelByteIO

/// The remembered digests of a file and its tensors: valid while device, inode, size, and times of modification and
/// status change are the same, and for a day (`SyncedFile`).
struct DigestMemo: Equatable {
    var identity: FileIdentity
    /// The time when its bytes were read, in nanoseconds since 1970.
    var read: Int64
    /// The digest of the whole file, as in `Provenance.Source`.
    var file: Digest
    /// The `TreeDigest` of each tensor, in the order of the file.
    var tensors: [Digest]

    private static let magic = Array("ACM3".utf8)

    /// Returns the name under which the digests of a file are stored.
    static func name(_ identity: FileIdentity) -> Digest {
        SHA256.digest(of: "\(identity.device) \(identity.inode)")
    }

    var encoded: ByteView {
        var writer = ByteWriter()
        writer.append(Self.magic)
        writer.append(identity.device)
        writer.append(identity.inode)
        writer.append(identity.size)
        writer.append(identity.modifiedNanoseconds)
        writer.append(identity.changedNanoseconds)
        writer.append(read)
        writer.append(UInt64(tensors.count))
        for digest in [file] + tensors { writer.append(digest.bytes) }
        writer.append(writer.view.crc32)
        return writer.view
    }

    init(identity: FileIdentity, read: Int64, file: Digest, tensors: [Digest]) {
        (self.identity, self.read) = (identity, read)
        self.file = file
        self.tensors = tensors
    }

    init(_ bytes: ByteView, file name: String) throws {
        let size = bytes.count - 4
        guard size >= 0 else { throw FormatError(file: name, reason: "a memo of \(bytes.count) bytes is cut off") }
        var trailer = ByteReader(bytes, file: name, position: size)
        guard try trailer.integer(UInt32.self) == bytes[0..<size].crc32 else {
            throw trailer.error("the checksum does not fit", at: size)
        }
        var reader = ByteReader(bytes[0..<size], file: name)
        guard try reader.bytes(4).withBytes({ $0.elementsEqual(Self.magic) }) else {
            throw reader.error("this is not a memo", at: 0)
        }
        identity = FileIdentity(
            device: try reader.integer(), inode: try reader.integer(), size: try reader.integer(),
            modifiedNanoseconds: try reader.integer(), changedNanoseconds: try reader.integer())
        read = try reader.integer()
        let count = try reader.natural("number of tensors", in: 0...1 << 32)
        guard count < reader.remaining / 32 else { throw reader.error("\(count) digests do not fit") }
        func digest() throws -> Digest { Digest(bytes: try reader.bytes(32).withBytes { Array($0) }) }
        file = try digest()
        tensors = try (0..<count).map { _ in try digest() }
        try reader.finish()
    }
}

extension Cache {
    /// Returns the remembered digests of an unchanged file; nil if there are none.
    func memo(_ identity: FileIdentity, tensors: Int) -> DigestMemo? {
        let path = folder.memoPath(DigestMemo.name(identity))
        guard readingMiss == nil, let bytes = (try? folder.opened(path))?.bytes,
            let memo = try? DigestMemo(bytes, file: path), memo.identity == identity, memo.tensors.count == tensors,
            SyncedFile.counts(memo.read, now: now)
        else { return nil }
        return memo
    }

    /// Stores digests, unless the file is so young that it could change without a visible change of its times.
    func store(_ memo: DigestMemo) {
        let youngest = max(memo.identity.modifiedNanoseconds, memo.identity.changedNanoseconds)
        guard now - youngest > Self.settledNanoseconds else { return }
        _ = writing { folder in
            let path = folder.memoPath(DigestMemo.name(memo.identity))
            try folder.makeParent(of: path)
            try AtomicFile.write(memo.encoded, to: path, as: .internal, isSynced: false)
        }
    }

    /// Removes the remembered digests of a file, because they are wrong.
    func forgetMemo(_ identity: FileIdentity) {
        _ = writing { folder in try Files.removeTree(folder.memoPath(DigestMemo.name(identity))) }
    }

    /// Longer than the coarsest time resolution of a file system.
    private static var settledNanoseconds: Int64 { 2_000_000_000 }
}
