import AccelByteIO

/// Downloads the content of one file into its incomplete blob, from where an earlier download has ended.
struct BlobDownload {
    let server: HubServer
    let file: HubFile
    let commit: String
    /// Gets the number of bytes that were added, or dropped (negative).
    let note: (Int) -> Void

    /// Downloads bytes until the blob has the first `count` of them.
    func fill(_ blob: IncompleteBlob, upTo count: Int) throws {
        let count = min(count, blob.byteCount)
        if blob.count >= count { return }
        if count == blob.byteCount { try blob.hashRest() }
        try server.repeating(progress: { blob.count }) {
            // A connection may break after the last byte.
            if blob.count < count { try attempt(blob, upTo: count) }
        }
    }

    private func attempt(_ blob: IncompleteBlob, upTo count: Int) throws {
        let (start, isWhole) = (blob.count, blob.count == 0 && count == blob.byteCount)
        do {
            let url = server.url(of: file.path, at: commit)
            try server.get(url, of: file.path, range: isWhole ? nil : start...count - 1) { part in
                switch part {
                case .head(let head): try begin(head, blob, at: start)
                case .body(let bytes): try append(bytes, to: blob, upTo: count)
                }
                // The body of a whole file is read to its end, which shows whether there is more of it.
                return blob.count < count || count == blob.byteCount
            }
        } catch let error as HubError where error.code == .rangeRejected && start > 0 {
            // The server does not continue: it is asked for the whole file.
            try restart(blob)
            throw HubServer.Setback(error: error, delay: .zero)
        }
        guard blob.count >= count else {
            let error = server.error(.truncated, file.path, expected: "\(count) bytes", found: "\(blob.count)")
            throw HubServer.Setback(error: error)
        }
    }

    /// Checks that the body is the requested part, or the whole file.
    private func begin(_ head: HubAnswerHead, _ blob: IncompleteBlob, at start: Int) throws {
        if head.status == 206 {
            let range = head["Content-Range"] ?? "none"
            let parts = range.split { " -/".contains($0) }
            guard parts.count == 4, parts[0] == "bytes", Int(parts[1]) == start else {
                throw server.error(.unexpectedAnswer, file.path, expected: "the range from byte \(start)", found: range)
            }
            if let size = Int(parts[3]) { try check(size, blob) }
        } else {
            if let size = head.number("Content-Length"), head["Content-Encoding"] == nil { try check(size, blob) }
            // The server does not send ranges.
            if start > 0 { try restart(blob) }
        }
    }

    private func check(_ size: Int, _ blob: IncompleteBlob) throws {
        guard size != blob.byteCount else { return }
        throw server.error(.sizeMismatch, file.path, expected: "\(blob.byteCount) bytes", found: "\(size)")
    }

    private func append(_ bytes: UnsafeRawBufferPointer, to blob: IncompleteBlob, upTo count: Int) throws {
        let wanted = bytes.prefix(count - blob.count)
        if wanted.count < bytes.count, count == blob.byteCount {
            throw server.error(.sizeMismatch, file.path, expected: "\(blob.byteCount) bytes", found: "more")
        }
        let before = blob.count
        defer { note(blob.count - before) }
        try blob.append(UnsafeRawBufferPointer(rebasing: wanted))
    }

    private func restart(_ blob: IncompleteBlob) throws {
        note(-blob.count)
        try blob.restart()
    }
}
