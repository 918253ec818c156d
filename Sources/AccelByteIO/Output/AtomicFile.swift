import AccelPlatform

/// A file that appears completely or not at all: bytes go to a temporary file in the same folder; `commit` syncs and
/// renames it. Without `commit` the temporary file is removed.
public struct AtomicFile: ~Copyable {
    let file: TemporaryFile

    /// Creates the temporary file.
    /// - Parameters:
    ///   - kind: decides, now and in `commit`, whether an existing entry at `path` may be replaced.
    ///   - isSynced: if false, the file may be damaged after a power failure. For files that are verified when they are
    ///     read.
    ///   - isLarge: the system starts early to write it to the disk, so that the final sync is short; the part after
    ///     `cachedBytes` bypasses the page cache.
    ///   - isListed: `commitListed` will ask for the digest, which is computed while the file is written.
    /// - Throws: `RequestError` if an existing entry at `path` is not an earlier output of this kind, or if the folder
    ///   cannot be
    ///   written.
    public init(
        replacing path: String, as kind: OutputKind, mode: UInt16 = 0o644, isSynced: Bool = true, isLarge: Bool = false,
        isListed: Bool = false
    ) throws {
        try self.init(
            replacing: path, as: kind, mode: mode, isSynced: isSynced, cachedBytes: isLarge ? Self.cachedBytes : nil,
            isListed: isListed)
    }

    /// - Parameter cachedBytes: the part of a large file that uses the page cache; nil for a small file.
    init(
        replacing path: String, as kind: OutputKind, mode: UInt16 = 0o644, isSynced: Bool = true, cachedBytes: Int?,
        isListed: Bool = false
    ) throws {
        file = try TemporaryFile(replacing: path, as: kind, mode: mode, isSynced: isSynced, cachedBytes: cachedBytes)
        if isListed { file.hasher = TreeHasher() }
    }

    /// The part of a large file that stays in the page cache for its next reader.
    private static var cachedBytes: Int { 64 << 20 }

    /// The number of bytes written so far.
    public var count: Int { file.count }

    /// Appends bytes.
    public mutating func write(_ bytes: UnsafeRawBufferPointer) throws { try file.write(bytes) }

    /// Appends the bytes of a view.
    public mutating func write(_ view: ByteView) throws {
        try view.withBytes { (bytes: UnsafeRawBufferPointer) throws in try file.write(bytes) }
    }

    /// Appends text as UTF-8.
    public mutating func write(_ text: String) throws {
        var text = text
        try text.withUTF8 { try file.write(UnsafeRawBufferPointer($0)) }
    }

    /// Returns the content written so far, mapped from the file.
    public mutating func mapped() throws -> ByteView { try file.mapped() }

    /// Writes content to a file without a name and maps it. The file vanishes with its last reader, however the process
    /// ends.
    /// - Parameter folder: the folder in which it is created.
    public static func unnamed(_ parts: some Sequence<ByteView>, in folder: String) throws -> ByteView {
        var file = try AtomicFile(
            replacing: "\(folder)/\(TemporaryPaths.unnamed)", as: .internal, mode: 0o600, isSynced: false)
        for part in parts { try file.write(part) }
        // Not committed: the file is removed at once, and its map remains.
        return try file.mapped()
    }

    /// Appends zeros up to the next multiple of `alignment`.
    public mutating func pad(to alignment: Int) throws {
        let missing = alignment > 1 ? (alignment - file.count % alignment) % alignment : 0
        if missing > 0 { try write(ByteView(ByteBuffer(count: missing))) }
    }

    /// Syncs the file and publishes it under its name.
    /// - Throws: `RequestError` if the entry at its path is no longer an earlier output of its kind, or if it cannot be
    ///   written.
    public consuming func commit() throws { try file.commit() }

    /// Syncs the file and publishes it under its name.
    /// - Returns: the `TreeDigest` of the bytes that were written, for a `WrittenDocument`; nil unless the file `isListed`.
    public consuming func commitListed() throws -> Digest? {
        try file.commit()
        return file.hasher?.finalize()
    }

    /// Writes a file that consists of `text`.
    /// - Throws: as `init` and `commit` do.
    public static func write(_ text: String, to path: String, as kind: OutputKind, isSynced: Bool = true) throws {
        try write(ByteView(Array(text.utf8)), to: path, as: kind, isSynced: isSynced)
    }

    /// Writes a file that consists of `content`.
    /// - Throws: as `init` and `commit` do.
    public static func write(
        _ content: ByteView, to path: String, as kind: OutputKind, mode: UInt16 = 0o644, isSynced: Bool = true
    ) throws {
        var file = try AtomicFile(replacing: path, as: kind, mode: mode, isSynced: isSynced)
        try file.write(content)
        try file.commit()
    }
}

/// The state of an `AtomicFile`; it removes the file if it was not committed.
final class TemporaryFile {
    private static let bufferBytes = 1 << 18

    private let path: String
    private let kind: OutputKind
    private let temporary: String
    private var descriptor: FileDescriptor
    /// Open until the file is published or removed.
    private let hold: FileDescriptor
    private let isSynced: Bool
    private let cachedBytes: Int?
    /// The writer of the part after `cachedBytes`; the inner optional is nil if the file system does not support it.
    private var direct: DirectFile??
    private let buffer = ByteBuffer(count: bufferBytes)
    private var buffered = 0
    private var committed = false
    private(set) var count = 0
    /// The digest of what was written, where it is asked for.
    var hasher: TreeHasher?

    init(replacing path: String, as kind: OutputKind, mode: UInt16, isSynced: Bool, cachedBytes: Int?) throws {
        try kind.requireReplaceable(path, by: .file)
        self.path = path
        self.kind = kind
        self.isSynced = isSynced
        self.cachedBytes = cachedBytes
        // In drafts and the cache, abandoned files are removed with the folder, or by an eviction.
        if kind.isAsked { TemporaryPaths.removeAbandoned(beside: path, kind: kind) }
        let entry = try TemporaryPaths.entry(beside: path) { temporary in
            let number = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_t(mode))
            return number >= 0 ? number : nil
        } drop: {
            close($0)
        }
        guard let entry else {
            throw RequestError.unwritable(path, TemporaryPaths.failure(beside: path))
        }
        temporary = entry.path
        descriptor = FileDescriptor(entry.made)
        hold = FileDescriptor(entry.hold)
    }

    deinit {
        if !committed { TemporaryPaths.discard(temporary) }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        hasher?.update(bytes)
        var bytes = bytes
        if direct == nil, let cachedBytes, count >= cachedBytes {
            // Up to the end of a page through the page cache.
            let pageEnd = min(bytes.count, -count & (DirectFile.pageBytes - 1))
            try writeCached(UnsafeRawBufferPointer(rebasing: bytes[..<pageEnd]))
            bytes = UnsafeRawBufferPointer(rebasing: bytes[pageEnd...])
            if !bytes.isEmpty {
                try flush()
                direct = .some(DirectFile(temporary, from: count))
            }
        }
        guard let direct = direct ?? nil else { return try writeCached(bytes) }
        count += bytes.count
        guard direct.write(bytes) else { throw failure() }
        Disk.note(.written(temporary))
    }

    private func writeCached(_ bytes: UnsafeRawBufferPointer) throws {
        count += bytes.count
        if bytes.count <= buffer.bytes.count - buffered {
            append(bytes)
        } else {
            try flush()
            if bytes.count < buffer.bytes.count { append(bytes) } else { try writeNow(bytes) }
        }
    }

    private func append(_ bytes: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[buffered...]).copyMemory(from: bytes)
        buffered += bytes.count
    }

    private func flush() throws {
        try writeNow(UnsafeRawBufferPointer(rebasing: buffer.bytes[..<buffered]))
        buffered = 0
    }

    private func writeNow(_ bytes: UnsafeRawBufferPointer) throws {
        guard descriptor.writeAll(bytes) else { throw failure() }
        Disk.note(.written(temporary))
        if cachedBytes != nil, bytes.count >= Self.bufferBytes { descriptor.startWriting() }
    }

    func mapped() throws -> ByteView {
        try flush()
        if let direct = direct ?? nil, !direct.flush() { throw failure() }
        return try MappedFile(temporary).bytes[0..<count]
    }

    func commit() throws {
        try flush()
        if let direct = direct ?? nil {
            guard direct.finish() else { throw failure() }
            Disk.note(.written(temporary))
        }
        guard !isSynced || Disk.sync(descriptor, temporary), descriptor.close() else { throw failure() }
        try TemporaryPaths.publish(temporary, as: path, kind: kind, form: .file)
        committed = true
        if isSynced { Disk.syncFolder(Files.parentFolder(of: path) ?? "/") }
    }

    private func failure() -> RequestError {
        let limit = errno == EFBIG ? " (files may not be larger here; see ulimit -f)" : ""
        return RequestError.unwritable(path, "\(systemMessage())\(limit)")
    }
}
