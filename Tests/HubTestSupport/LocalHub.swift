import AccelByteIO
import AccelHub
import AccelPlatform

/// A server on 127.0.0.1 that speaks the part of the Hub's API that downloads use, with one repository. It counts requests and
/// bytes, and breaks in the ways that it is told.
package final class LocalHub: Sendable {
    /// A file of the repository.
    package struct File: Sendable {
        package let bytes: [UInt8]
        /// Stored as the Hub stores large files: the content lies on another host, if there is one.
        package let isLarge: Bool
        /// The SHA-256 of a large file; the name of the git blob of any other.
        package let etag: String
        /// The size in the description of the repository.
        package var declaredBytes: Int

        package init(_ bytes: [UInt8], isLarge: Bool = false) {
            (self.bytes, self.isLarge, declaredBytes) = (bytes, isLarge, bytes.count)
            if isLarge {
                etag = "\(SHA256.digest(of: ByteView(bytes)))"
            } else {
                var hash = SHA1()
                (Array("blob \(bytes.count)\0".utf8) + bytes).withUnsafeBytes { hash.update($0) }
                etag = hash.finalize()
            }
        }

        package init(_ text: String) { self.init(Array(text.utf8)) }
    }

    /// A request that has arrived.
    package struct Request: Sendable {
        package var method = ""
        package var path = ""
        package var headers: [String: String] = [:]
        /// The bytes of the body that were sent.
        package var sentBytes = 0
        package var token: String? { headers["authorization"] }
        package var range: String? { headers["range"] }
    }

    /// A way in which the server breaks.
    package enum Fault: Sendable {
        /// Answers with a status and headers.
        case status(Int, [String: String] = [:])
        /// Closes the connection after so many bytes of the body.
        case breaks(after: Int)
        /// Declares and sends so many bytes fewer than there are.
        case shortened(by: Int)
        /// Sends another last byte.
        case damaged
        /// Ignores ranges.
        case noRanges
        /// Sends nothing and keeps the connection open, until the client closes it.
        case stalls
        /// Waits between pieces of 16 kB.
        case slow(microseconds: UInt32)
        /// Answers with text that is not HTTP, or JSON.
        case raw(String)
    }

    private struct State {
        /// The files of each commit.
        var commits: [String: [String: File]] = [:]
        /// The commit of the revision `main`.
        var commit = ""
        var requests: [Request] = []
        /// The number of requests that are not counted any more.
        var forgotten = 0
        var faults: [(part: String, fault: Fault, count: Int)] = []
    }

    /// The repository, as `OWNER/NAME`.
    package let repository: String
    /// The address of the server.
    package let endpoint: String
    /// The server that has the content of large files, as the Hub does; nil for this one.
    private let contentHost: LocalHub?
    /// The description of the repository lists digests and sizes.
    private let listsDigests: Bool
    private let descriptor: Int32
    private let state = Locked(State())

    package init(
        _ repository: String, commit: String, files: [String: File], contentHost: LocalHub? = nil,
        listsDigests: Bool = true,
        port: UInt16 = 0
    ) throws {
        (self.repository, self.contentHost, self.listsDigests) = (repository, contentHost, listsDigests)
        let listening = try ListeningSocket(port: port)
        descriptor = listening.descriptor
        endpoint = "http://127.0.0.1:\(listening.port)"
        set(files, commit: commit)
        contentHost?.set(files, commit: commit)
        DetachedThread.start { [weak self, descriptor] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 || errno == EINTR || errno == ECONNABORTED, let server = self else { break }
                DetachedThread.start { server.serve(Connection(connection)) }
            }
            // Here, so that nobody waits at a number that belongs to another socket by then.
            close(descriptor)
        }
    }

    deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }

    // MARK: What tests set and ask

    /// Moves the revision `main` to another commit with these files.
    /// - Parameter keepsOthers: if false, the commits before have vanished.
    package func set(_ files: [String: File], commit: String, keepsOthers: Bool = false) {
        state.withLock { state in
            if !keepsOthers { state.commits = [:] }
            state.commits[commit] = files
            state.commit = commit
        }
    }

    /// Breaks the next requests whose path contains a text.
    package func fail(_ part: String, _ fault: Fault, times: Int = 1) {
        state.withLock { $0.faults.append((part, fault, times)) }
    }

    /// In memory of their own: a shared buffer is later changed in place, which the thread sanitizer takes for a race.
    package var requests: [Request] { state.withLock { $0.requests[$0.forgotten...].map { $0 } } }
    package var sentBytes: Int { requests.reduce(0) { $0 + $1.sentBytes } }
    package func requests(of part: String) -> [Request] { requests.filter { $0.path.contains(part) } }
    package func forget() { state.withLock { $0.forgotten = $0.requests.count } }

    // MARK: Answers

    private func fault(for path: String) -> Fault? {
        state.withLock { state -> Fault? in
            guard let index = state.faults.firstIndex(where: { $0.count > 0 && path.contains($0.part) }) else {
                return nil
            }
            state.faults[index].count -= 1
            return state.faults[index].fault
        }
    }

    private func serve(_ connection: Connection) {
        guard var request = connection.request() else { return }
        let arrived = request
        let index = state.withLock { state -> Int in
            state.requests.append(arrived)
            return state.requests.count - 1
        }
        let fault = fault(for: request.path)
        var answer = answer(to: request)
        switch fault {
        case .status(let status, let headers)?: answer = Answer(status: status, headers: headers)
        case .stalls?:
            connection.waitForEnd()
            return
        case .raw(let text)?:
            connection.send(Array(text.utf8))
            return
        case .damaged?:
            if let last = answer.body.indices.last { answer.body[last] ^= 1 }
        case .shortened(let count)?: answer.body.removeLast(min(count, answer.body.count))
        case .noRanges?: request.headers["range"] = nil
        case .breaks?, .slow?, nil: break
        }
        answer.takeRange(request.headers["range"])
        connection.send(answer.head)
        guard request.method == "GET" else { return }
        var rest = answer.body[...]
        if case .breaks(let count)? = fault { rest = rest.prefix(count) }
        while !rest.isEmpty {
            if case .slow(let microseconds)? = fault { usleep(microseconds) }
            let piece = rest.prefix(16 << 10)
            guard connection.send(Array(piece)) else { return }
            state.withLock { $0.requests[index].sentBytes += piece.count }
            rest = rest.dropFirst(piece.count)
        }
    }

    private func answer(to request: Request) -> Answer {
        let (commits, main) = state.withLock { ($0.commits, $0.commit) }
        let path = String(request.path.prefix { $0 != "?" })
        let parts = path.split(separator: "/").map(String.init)
        if parts.first == "content" {
            let all = commits.values.flatMap(\.values)
            guard let file = all.first(where: { $0.etag == parts.last }) else { return Answer(status: 404) }
            return Answer(status: 200, headers: ["ETag": "\"of-the-content-host\""], body: file.bytes)
        }
        let isDescription = parts.starts(with: ["api", "models"])
        let names = parts.dropFirst(isDescription ? 2 : 0)
        guard names.prefix(2).joined(separator: "/") == repository else {
            return Answer(status: 404, headers: ["X-Error-Code": "RepoNotFound"])
        }
        let words = Array(names.dropFirst(2))
        let revision = words.count > 1 ? words[1] : "main"
        let commit = revision == "main" ? main : revision
        guard let files = commits[commit] else {
            return Answer(status: 404, headers: ["X-Error-Code": "RevisionNotFound"])
        }
        switch (isDescription, words.first) {
        case (true, nil), (true, "revision"): return Answer(json: description(files, commit))
        case (true, "tree"): return Answer(json: tree(files))
        case (false, "resolve"): break
        default: return Answer(status: 404)
        }
        guard let file = files[words.dropFirst(2).joined(separator: "/")] else {
            return Answer(status: 404, headers: ["X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit])
        }
        let headers = ["X-Repo-Commit": commit, "ETag": "\"\(file.etag)\""]
        guard file.isLarge, let contentHost else { return Answer(status: 200, headers: headers, body: file.bytes) }
        let linked = [
            "X-Linked-Etag": "\"\(file.etag)\"", "X-Linked-Size": "\(file.bytes.count)", "ETag": "\"of-a-pointer\"",
            "Location": "\(contentHost.endpoint)/content/\(file.etag)",
        ]
        return Answer(status: 302, headers: headers.merging(linked) { $1 })
    }

    private func description(_ files: [String: File], _ commit: String) -> JSON {
        let siblings = files.sorted { $0.key < $1.key }.map { path, file -> JSON in
            let (name, size) = (JSON.Member("rfilename", .string(path)), JSON.integer(Int64(file.declaredBytes)))
            guard listsDigests else { return .object([name]) }
            // The blob of a large file is its pointer.
            let blob = JSON.Member("blobId", .string(file.isLarge ? String(repeating: "0", count: 40) : file.etag))
            let pointer: JSON = .object([
                .init("sha256", .string(file.etag)), .init("size", size), .init("pointerSize", 130),
            ])
            return .object([name, .init("size", size), blob] + (file.isLarge ? [.init("lfs", pointer)] : []))
        }
        return .object([
            .init("id", .string(repository)), .init("sha", .string(commit)), .init("private", false), .init("tags", []),
            .init("downloads", 0), .init("siblings", .array(siblings)),
        ])
    }

    private func tree(_ files: [String: File]) -> JSON {
        .array(
            files.sorted { $0.key < $1.key }.map { path, file in
                let size = JSON.integer(Int64(file.bytes.count))
                let pointer: JSON = .object([
                    .init("oid", .string(file.etag)), .init("size", size), .init("pointerSize", 130),
                ])
                return .object(
                    [
                        .init("type", "file"), .init("path", .string(path)), .init("size", size),
                        .init("oid", .string(file.isLarge ? String(repeating: "0", count: 40) : file.etag)),
                    ] + (file.isLarge ? [.init("lfs", pointer)] : []))
            })
    }
}
