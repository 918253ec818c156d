import AccelByteIO

/// Downloads one file into the cache, or the first bytes of it.
struct FileDownload {
    let cache: RepositoryCache
    let server: HubServer
    /// The file, with its size and its digest.
    let file: HubFile
    let commit: String

    /// The first bytes of a safetensors file that are asked for together. Most headers are not longer.
    private static let usualHeaderBytes = 16 << 10
    /// The first bytes of any other file.
    private static let otherHeaderBytes = 64 << 10
    /// The limit of the format.
    private static let maximumHeaderBytes = 100_000_000

    /// Adds the file to the snapshot.
    /// - Throws: `HubError`, `digestMismatch` after the content was dropped.
    func run(_ meter: ProgressMeter) throws {
        let before = cache.presentBytes(of: file)
        if try cache.link(file, at: commit) { return meter.add((file.byteCount ?? 0) - before) }
        try locked { digest, byteCount in
            // Another process may have been faster.
            if try cache.link(file, at: commit) { return meter.add(byteCount - before) }
            var blob = try cache.incomplete(digest, byteCount: byteCount)
            meter.add(blob.count - before)
            let hasOldBytes = blob.count > 0
            let download = BlobDownload(server: server, file: file, commit: commit, note: meter.add)
            try download.fill(blob, upTo: byteCount)
            var found = try blob.commit()
            if found != nil, hasOldBytes {
                // The old bytes may have been anything.
                meter.add(-byteCount)
                blob = try cache.incomplete(digest, byteCount: byteCount)
                try download.fill(blob, upTo: byteCount)
                found = try blob.commit()
            }
            if let found {
                throw server.error(.digestMismatch, file.path, expected: "\(digest)", found: "\(found)")
            }
            guard try cache.link(file, at: commit) else {
                throw server.error(.cacheFailure, file.path, expected: "a blob", found: "none")
            }
        }
    }

    /// Returns the first bytes. They stay in the cache: the download of the whole file continues after them.
    func header() throws -> HubHeader {
        if let header = try presentHeader() { return header }
        return try locked { digest, byteCount in
            // Another process may have been faster.
            if let header = try presentHeader() { return header }
            let blob = try cache.incomplete(digest, byteCount: byteCount)
            let hasOldBytes = blob.count > 0
            do {
                return try header(of: blob)
            } catch let error as HubError where error.code == .unexpectedAnswer && hasOldBytes {
                // The old bytes may have been anything.
                try blob.restart()
                return try header(of: blob)
            }
        }
    }

    /// Returns the first bytes of a file that the cache has whole.
    private func presentHeader() throws -> HubHeader? {
        guard let path = try cache.path(of: file, at: commit) else { return nil }
        let bytes = try MappedFile(path).bytes
        let count = try headerBytes { bytes[0..<min($0, bytes.count)].withBytes { Array($0) } }
        return HubHeader(path: file.path, byteCount: bytes.count, bytes: bytes[0..<min(count, bytes.count)])
    }

    private func header(of blob: IncompleteBlob) throws -> HubHeader {
        let download = BlobDownload(server: server, file: file, commit: commit) { _ in }
        func prefix(_ count: Int) throws -> [UInt8] {
            try download.fill(blob, upTo: count)
            return try blob.prefix(count)
        }
        let count = try headerBytes { _ in try prefix(Self.usualHeaderBytes) }
        return HubHeader(path: file.path, byteCount: blob.byteCount, bytes: ByteView(try prefix(count)))
    }

    /// Returns the number of bytes that the header has.
    /// - Parameter start: returns at least the given number of first bytes, if the file has so many.
    private func headerBytes(_ start: (Int) throws -> [UInt8]) throws -> Int {
        guard file.path.hasSuffix(".safetensors") else { return Self.otherHeaderBytes }
        let bytes = try start(9)
        let count = bytes.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let limit = min(Self.maximumHeaderBytes, (file.byteCount ?? .max) - 8)
        // The header is a JSON object.
        guard bytes.count >= 9, bytes[8] == UInt8(ascii: "{"), let header = Int(exactly: count), header <= limit else {
            throw server.error(
                .unexpectedAnswer, file.path, expected: "a safetensors file of \(file.byteCount ?? 0) bytes",
                found: bytes.count < 9 ? "\(bytes.count) bytes" : "a header of \(count) bytes")
        }
        return 8 + header
    }

    private func locked<Result>(_ body: (ContentDigest, Int) throws -> Result) throws -> Result {
        guard let digest = file.digest, let byteCount = file.byteCount else {
            throw server.error(.unexpectedAnswer, file.path, expected: "a size and a digest")
        }
        return try cache.locked(digest, server.cancellation) { try body(digest, byteCount) }
    }
}
