import AccelByteIO

/// Downloads the files of a commit that the cache lacks.
struct SnapshotDownload {
    private let cache: RepositoryCache
    private let server: HubServer
    private var listing: HubListing
    private var commit: String { listing.commit }
    private var folder: String { cache.snapshot(commit) }

    init(cache: RepositoryCache, server: HubServer, listing: HubListing) {
        (self.cache, self.server, self.listing) = (cache, server, listing)
    }

    /// Downloads in the order configuration, headers of the weights, tokenizer, weights, with the checks in between.
    mutating func run(_ checks: HubChecks, _ report: @escaping @Sendable (HubProgress) -> Void) throws -> HubSnapshot {
        let selection = try HubSelection(of: listing, for: server.reference)
        try download(files(selection.configuration))
        if !selection.configuration.isEmpty { try checks.configuration(folder) }
        let weights = try weights(selection.weights)
        if try weights.contains(where: { try !cache.has($0, at: commit) }) {
            try checks.headers(folder, headers(of: weights))
        }
        try download(files(selection.texts) + weights, report)
        // Without the record, the next call asks for the listing: a complete cache that may not be written to can be used.
        try? cache.record(listing)
        return selection.snapshot(folder, commit)
    }

    private mutating func weights(_ weights: HubSelection.Weights) throws -> [HubFile] {
        switch weights {
        case .files(let paths): return try files(paths)
        case .index(let path):
            let index = try files([path])
            try download(index)
            let shards = try HubSelection.shards(ofIndex: "\(folder)/\(path)", named: path, server.reference)
            return try files(shards)
        }
    }

    /// Returns files with their size and digest. Servers that list only names are asked for each file.
    private mutating func files(_ paths: [String]) throws -> [HubFile] {
        try paths.map { path in
            guard let file = listing.files[path] else { throw server.error(.fileNotFound, path) }
            if file.digest != nil, file.byteCount != nil { return file }
            let known = try server.metadata(of: path, at: commit)
            listing.files[path] = known
            return known
        }
    }

    // MARK: Whole files

    private func download(
        _ files: [HubFile], _ report: @escaping @Sendable (HubProgress) -> Void = { _ in }
    ) throws {
        let missing = try files.filter { try !cache.has($0, at: commit) }
        if missing.isEmpty { return }
        let total = try Self.sum(missing.map { $0.byteCount ?? 0 }, of: server)
        let done = missing.map(cache.presentBytes).reduce(0, +)
        try requireSpace(total - done)
        let meter = ProgressMeter(total: total, done: done, report)
        try inParallel(missing, threads: server.policy.parallelFiles, server.cancellation) {
            [cache, server, commit] file, cancellation in
            let file = FileDownload(
                cache: cache, server: server.cancelled(by: cancellation), file: file, commit: commit)
            try file.run(meter)
        }
    }

    private static func sum(_ sizes: [Int], of server: HubServer) throws -> Int {
        var sum = 0
        for size in sizes {
            let (next, overflow) = sum.addingReportingOverflow(size)
            guard !overflow else {
                throw server.error(.unexpectedAnswer, nil, expected: "sizes of files", found: "\(size)")
            }
            sum = next
        }
        return sum
    }

    private func requireSpace(_ bytes: Int) throws {
        guard let free = cache.freeBytes(), bytes > free else { return }
        throw server.error(
            .noSpace, folder, expected: Wording.bytes(bytes), found: Wording.bytes(free))
    }

    // MARK: Headers

    private func headers(of weights: [HubFile]) throws -> [HubHeader] {
        let headers = Locked<[Int: HubHeader]>([:])
        try inParallel(Array(weights.enumerated()), threads: server.policy.parallelFiles, server.cancellation) {
            [cache, server, commit] element, cancellation in
            let file = FileDownload(
                cache: cache, server: server.cancelled(by: cancellation), file: element.element, commit: commit)
            let header = try file.header()
            headers.withLock { $0[element.offset] = header }
        }
        return headers.withLock { headers in weights.indices.compactMap { headers[$0] } }
    }
}

extension HubServer {
    /// Returns the same server with another cancellation.
    fileprivate func cancelled(by cancellation: Cancellation) -> HubServer {
        HubServer(
            reference: reference, environment: environment, transport: transport, policy: policy,
            cancellation: cancellation)
    }
}
