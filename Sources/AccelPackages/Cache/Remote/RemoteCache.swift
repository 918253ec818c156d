public import AccelByteIO

extension Diagnostic.Code {
    /// A cache server is one to read from only.
    package static let serverTakesNoResults: Self = "server-takes-no-results"
}

/// A cache server with plain GET, HEAD and PUT of `URL/ac/KEY` (a record, as an `ActionResult`) and `URL/cas/SHA256` (a
/// blob), as bazel-remote or any WebDAV folder provides. Blobs are verified before the local cache takes them; records
/// are trusted to name the right blobs. A server that fails is not asked again.
public final class RemoteCache: Sendable {
    /// The address without credentials, for messages.
    public let name: String
    private let url: String
    /// Results are fetched, but not sent.
    public let isReadOnly: Bool
    private let authorization: String?
    private let transport: any RemoteTransport
    private let warn: @Sendable (Diagnostic) -> Void
    private let state = Locked(State())

    private struct State {
        /// Why the server is not asked any more; nil while it is.
        var failure: String?
        /// The status by which the server rejected a result; nil while it has rejected none.
        var rejection: Int?
        /// The blobs that the server has with other bytes.
        var damaged: Set<Digest> = []
        /// The records whose blobs are among them.
        var damagedRecords: Set<Digest> = []
        /// The records to be sent.
        var pending: [CacheRecord] = []
    }

    /// Creates a connection; nothing is requested yet.
    /// - Parameters:
    ///   - transport: performs the requests.
    ///   - authorization: the value of the header `Authorization`, such as `Bearer ...`; never shown.
    ///   - warn: called with a sentence, once if the server fails, once if it takes no results, and once if it has damaged
    ///     blobs or records.
    /// - Throws: `RequestError` for an invalid address.
    public init(
        url: String, transport: any RemoteTransport, isReadOnly: Bool = false, authorization: String? = nil,
        warn: @escaping @Sendable (Diagnostic) -> Void = { _ in }
    ) throws {
        guard let address = ServerAddress(url) else {
            throw RequestError(
                "\"\(url)\" is not the address of a cache server, such as https://cache.example.org/accelc")
        }
        if let authorization, authorization.unicodeScalars.contains(where: { $0.value < 32 }) {
            throw RequestError("the authorization for the cache server is not one line of text")
        }
        name = address.publicText
        self.url = Files.trimmingSlashes(url)
        self.isReadOnly = isReadOnly
        self.authorization = authorization
        self.transport = transport
        self.warn = warn
    }

    /// Fetches records and their blobs into the local cache. Missing or incomplete ones are skipped.
    func fetch(_ keys: [Digest], into cache: Cache) {
        guard !keys.isEmpty, !isBroken else { return }
        cache.writing { folder in
            let folder = try folder.scratch()
            let scratch = folder.path
            let records = received(keys, scratch)
            let missing = Dictionary(
                records.flatMap(\.files).filter { !cache.folder.has($0) }.map { ($0.digest, $0) }
            ) { first, _ in first }.values.sorted { $0.digest < $1.digest }
            let requests = missing.map {
                RemoteRequest(
                    url: "\(url)/cas/\($0.digest)", method: .get(into: "\(scratch)/\($0.digest)", limit: $0.byteCount))
            }
            guard cache.folder.hasSpace(for: missing) else { return }
            var damaged: Set<Digest> = []
            for (file, outcome) in zip(missing, outcomes(requests)) {
                let isWhole =
                    try outcome.isSuccess && cache.folder.adopt("\(scratch)/\(file.digest)", as: file)
                if !isWhole, outcome.isSuccess || outcome == .incomplete { damaged.insert(file.digest) }
            }
            note(damaged, of: records)
            for record in records where record.files.allSatisfy(cache.folder.has) {
                cache.lease(record.key.digest)
                try cache.folder.putRecord(record)
                cache.state.withLock { _ = $0.received.insert(record.key.digest) }
            }
            withExtendedLifetime(folder) {}
        }
    }

    /// Remembers the blobs that the server has with other bytes: they are sent again with their records. More may be found later, so that
    /// none are counted.
    private func note(_ damaged: Set<Digest>, of records: [CacheRecord]) {
        guard let example = damaged.min() else { return }
        let isFirst = state.withLock { state in
            defer {
                state.damaged.formUnion(damaged)
                state.damagedRecords.formUnion(
                    records.filter { $0.files.contains { damaged.contains($0.digest) } }.map(\.key.digest))
            }
            return state.damaged.isEmpty
        }
        guard isFirst else { return }
        warn(
            Diagnostic(
                "results on the cache server \(name) are damaged, and a conversion makes them again\(isReadOnly ? "" : " and sends them"): "
                    + "the content of cas/\(example), for one, has another digest"))
    }

    /// Why the server has not supplied a record that it may have; nil if it does not have it.
    func trouble(with key: Digest) -> String? {
        state.withLock { state in
            if let failure = state.failure { return "the cache server \(name) is not used: \(failure)" }
            return state.damagedRecords.contains(key) ? "what the cache server \(name) has of it is damaged" : nil
        }
    }

    private static let maximumRecordBytes = 1 << 20

    private func received(_ keys: [Digest], _ scratch: String) -> [CacheRecord] {
        let requests = keys.map {
            RemoteRequest(
                url: "\(url)/ac/\($0)", method: .get(into: "\(scratch)/\($0)", limit: Self.maximumRecordBytes))
        }
        var foreign: [Digest] = []
        let records = zip(keys, outcomes(requests)).compactMap { key, outcome -> CacheRecord? in
            guard outcome.isSuccess else { return nil }
            guard let bytes = try? MappedFile("\(scratch)/\(key)").bytes,
                let record = try? CacheRecord(message: bytes, file: "\(url)/ac/\(key)"), record.key.digest == key
            else {
                foreign.append(key)
                return nil
            }
            return record
        }
        note(foreign: foreign)
        return records
    }

    /// Remembers the keys under which the server has something else than their records.
    private func note(foreign keys: [Digest]) {
        guard let example = keys.first else { return }
        let isFirst = state.withLock { state in
            defer { state.damagedRecords.formUnion(keys) }
            return state.damagedRecords.isEmpty
        }
        guard isFirst else { return }
        warn(
            Diagnostic(
                "the cache server \(name) answers with what is no record of accelc, and its results are made again: the content of "
                    + "ac/\(example), for one"))
    }

    /// Adds a record to those to be sent.
    func add(_ record: CacheRecord) {
        guard !isReadOnly else { return }
        state.withLock { if !Self.takesNone($0.rejection) { $0.pending.append(record) } }
    }

    /// Adds the records of the local cache that the server lacks to those to be sent. Their files are read against their digests.
    func add(missing keys: [Digest], from folder: CacheFolder) {
        guard !isReadOnly, !keys.isEmpty, !isBroken, !state.withLock({ Self.takesNone($0.rejection) }) else { return }
        let heads = outcomes(keys.map { .init(url: "\(url)/ac/\($0)", method: .head) })
        let pending = state.withLock { Set($0.pending.map(\.key.digest)) }
        for (key, head) in zip(keys, heads) where head == .status(404) && !pending.contains(key) {
            guard let record = try? folder.record(key),
                record.files.allSatisfy({ (try? folder.verifiedBlob($0)) != nil })
            else { continue }
            add(record)
        }
    }

    /// Sends the pending records: first blobs that the server lacks, then the records whose blobs it has.
    func send(from folder: CacheFolder) {
        let records = state.withLock { state in
            defer { state.pending = [] }
            return state.pending
        }
        guard !records.isEmpty, !isBroken else { return }
        let digests = Set(records.flatMap(\.files).map(\.digest)).sorted()
        let damaged = state.withLock(\.damaged)
        let heads = outcomes(digests.map { .init(url: "\(url)/cas/\($0)", method: .head) })
        let missing = zip(digests, heads).filter { damaged.contains($0) || !$1.isSuccess }.map(\.0)
        let blobs = missing.map { digest in
            RemoteRequest(url: "\(url)/cas/\(digest)", method: .put(from: folder.blobPath(digest)))
        }
        // One alone first: a server that takes none is not sent all.
        let first = outcomes(Array(blobs.prefix(1)))
        noteRejections(among: first)
        guard !state.withLock({ Self.takesNone($0.rejection) }) else { return }
        let others = outcomes(Array(blobs.dropFirst()))
        noteRejections(among: others)
        let failed = Set(zip(missing, first + others).filter { !$1.isSuccess }.map(\.0))
        let whole = records.filter { $0.files.allSatisfy { !failed.contains($0.digest) } }
        guard let folder = try? folder.scratch() else { return }
        let scratch = folder.path
        let messages = whole.compactMap { record -> RemoteRequest? in
            let path = "\(scratch)/\(record.key.digest)"
            guard (try? AtomicFile.write(record.message, to: path, as: .internal, isSynced: false)) != nil else {
                return nil
            }
            return .init(url: "\(url)/ac/\(record.key.digest)", method: .put(from: path))
        }
        noteRejections(among: withExtendedLifetime(folder) { outcomes(messages) })
    }

    /// Warns of the first result that the server rejects.
    private func noteRejections(among puts: [RemoteOutcome]) {
        guard let status = puts.compactMap(\.rejection).first else { return }
        let isFirst = state.withLock { state in
            defer { state.rejection = Self.takesNone(state.rejection) ? state.rejection : status }
            return state.rejection == nil
        }
        guard isFirst, !isBroken else { return }
        warn(
            Self.takesNone(status)
                ? Diagnostic(
                    "the cache server \(name) takes no results: it answers PUT with status \(status)",
                    code: .serverTakesNoResults)
                : "the cache server \(name) does not take all results: it answers PUT with status \(status)")
    }

    /// Whether a status says that the server does not know PUT at all.
    private static func takesNone(_ status: Int?) -> Bool { status == 405 || status == 501 }

    private var isBroken: Bool { state.withLock { $0.failure != nil } }

    /// Performs requests, and stops using the server if it fails.
    private func outcomes(_ requests: [RemoteRequest]) -> [RemoteOutcome] {
        let rejected = [RemoteOutcome](repeating: .failed("it is not used"), count: requests.count)
        guard !isBroken else { return rejected }
        guard let outcomes = transport.run(requests, authorization: authorization) else {
            giveUp("there is no curl program to reach it with")
            return rejected
        }
        if let failure = outcomes.compactMap(failure).first { giveUp(failure) }
        return outcomes
    }

    /// Returns why the server should not be asked again; nil if it may be.
    private func failure(_ outcome: RemoteOutcome) -> String? {
        switch outcome {
        case .status(let status) where status == 401 || status == 403:
            "it rejects access (status \(status)) "
                + (authorization == nil ? "to requests without an authorization" : "to this authorization")
        case .status(let status) where status >= 500 && status != 501: "it answers with status \(status)"
        case .incomplete, .status: nil
        case .failed(let reason): reason
        }
    }

    private func giveUp(_ reason: String) {
        let isFirst = state.withLock { state in
            defer { state.failure = state.failure ?? reason }
            return state.failure == nil
        }
        if isFirst { warn("the cache server \(name) is not used any more: \(reason)") }
    }
}

extension RemoteOutcome {
    fileprivate var isSuccess: Bool { if case .status(200..<300) = self { true } else { false } }

    /// The status by which a server rejects what it was sent; nil if it does not, or fails.
    fileprivate var rejection: Int? {
        if case .status(let status) = self, status == 501 || 400..<500 ~= status { status } else { nil }
    }
}

extension CacheFolder {
    /// Creates an empty folder for files that will become blobs; it is removed with the value.
    func scratch() throws -> TemporaryFolder {
        try makeFolder(workPath)
        return try TemporaryFolder(beside: "\(workPath)/\(CacheNames.random())", mode: 0o700)
    }

    /// Returns whether files fit on the disk with the default free space left; their sizes come from a server.
    func hasSpace(for files: [CacheRecord.File]) -> Bool {
        var remaining = (Files.freeBytes(at: root) ?? .max) - Cache.usualFreeBytes
        for file in files {
            guard file.byteCount <= remaining else { return false }
            remaining -= file.byteCount
        }
        return true
    }

    /// Returns whether there is a blob with the size of the file.
    func has(_ file: CacheRecord.File) -> Bool { (try? blob(file)) != nil }

    /// Turns a file into the blob of its digest; a file with another digest is left in place.
    /// - Returns: Whether it has the digest.
    func adopt(_ path: String, as file: CacheRecord.File) throws -> Bool {
        let content = try MappedFile(path).bytes
        guard content.count == file.byteCount, SHA256.digest(of: content) == file.digest else { return false }
        try putFile(path, as: file, mayLink: true)
        return true
    }
}
