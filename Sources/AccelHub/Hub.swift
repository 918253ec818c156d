public import AccelByteIO

/// When a download makes requests.
public enum HubAccess: Sendable {
    /// Only if the cache does not know the commit of the revision, or lacks a file. A branch that has moved is not noticed.
    case ifNeeded
    /// The revision is looked up even if the cache knows it.
    case refreshed
    /// Never.
    case offline
}

/// A model in the cache.
public struct HubSnapshot: Equatable, Sendable {
    /// The folder with the files of the commit.
    public var folder: String
    /// The commit.
    public var commit: String
    /// The path of the file that was named, or that is the only one; of several parts, the first. Nil for a folder with the
    /// files of a model.
    public var file: String?
}

/// Downloads models from the Hub into the cache of Hugging Face's own library.
///
///     let hub = Hub(try HubEnvironment(variables), CurlHubTransport(environment: variables))
///     let model = try hub.fetch(HubReference(parsing: "hf:HuggingFaceTB/SmolLM2-135M-Instruct"))
public struct Hub: Sendable {
    private let environment: HubEnvironment
    private let transport: any HubTransport
    private let policy: HubPolicy

    /// Creates a client; nothing is requested yet.
    public init(_ environment: HubEnvironment, _ transport: any HubTransport, policy: HubPolicy = HubPolicy()) {
        (self.environment, self.transport, self.policy) = (environment, transport, policy)
    }

    /// Returns a model from the cache, after its missing files were downloaded.
    ///
    /// First the files of the commit are listed, then `config.json` and the headers of the weights are downloaded and checked,
    /// then the rest. Interrupted files stay in the cache, and the next call continues them.
    /// - Parameters:
    ///   - checks: are called if files are missing in the cache.
    ///   - progress: is called about every 0.1 s, from any thread, while the rest is downloaded.
    /// - Throws: `HubError`; `CancellationError`; the errors of `checks`.
    public func fetch(
        _ reference: HubReference, access: HubAccess = .ifNeeded, checks: HubChecks = HubChecks(),
        cancellation: Cancellation = Cancellation(), progress: @escaping @Sendable (HubProgress) -> Void = { _ in }
    ) throws -> HubSnapshot {
        let cache = RepositoryCache(root: environment.cacheFolder, reference)
        let isOffline = access == .offline || environment.isOffline
        let known = reference.isCommit ? reference.revision : cache.commit(of: reference.revision)
        if let known, isOffline || reference.isCommit || access != .refreshed {
            let local = LocalSnapshot(cache: cache, reference: reference, commit: known)
            if let snapshot = try local.snapshot(isOffline: isOffline) { return snapshot }
        }
        if isOffline { throw HubError(.offline, subject: "\(reference)", location: environment.cacheFolder) }

        let server = HubServer(
            reference: reference, environment: environment, transport: transport, policy: policy,
            cancellation: cancellation)
        let isKnown = known != nil && (reference.isCommit || access != .refreshed)
        let listing = try (isKnown ? known : nil).flatMap(cache.listing) ?? server.listing()
        if reference.isCommit, listing.commit != reference.revision {
            throw server.error(.unexpectedAnswer, nil, expected: reference.revision, found: listing.commit)
        }
        var download = SnapshotDownload(cache: cache, server: server, listing: listing)
        let snapshot = try download.run(checks, progress)
        // After the files, so that a revision never leads to an incomplete snapshot while it was complete before.
        if !reference.isCommit { try? cache.setCommit(listing.commit, of: reference.revision) }
        return snapshot
    }
}

extension HubServer {
    private static let maximumListingBytes = 64 << 20

    /// Asks for the commit of the revision, and its files.
    func listing() throws -> HubListing {
        let revision = HubName.escaped(reference.revision, keepsSlashes: false)
        let url = "\(environment.endpoint)/api/models/\(reference.repository)/revision/\(revision)?blobs=true"
        var bytes: [UInt8] = []
        try repeating(progress: { 0 }) {
            bytes = []
            do {
                try get(url, of: nil, range: nil) { part in
                    if case .body(let more) = part { bytes += more }
                    return bytes.count <= Self.maximumListingBytes
                }
            } catch let setback as Setback where setback.error.code == .noConnection {
                // Nobody waits for a network that is not there.
                throw setback.error
            }
        }
        do {
            return try HubListing(answer: JSONField(JSON.parse(ByteView(bytes), file: url), file: url))
        } catch {
            throw self.error(.unexpectedAnswer, url, found: "\(error)")
        }
    }
}
