import AccelByteIO
import AccelFrontEnds
public import AccelPackages

/// A model that is open and ready to run: one copy of the weights for all functions, sessions and threads.
///
///     let model = try await AccelModel(.path("minilm.accelpkg"))
///     let embed = try model.function("model")
///     let outputs = try await embed(["input_ids": tokens, "attention_mask": mask, "token_type_ids": segments])
///     let embedding = try outputs["sentence_embedding"].array(of: Float.self)
///
/// The last reference to it, its functions and its sessions frees everything.
public final class AccelModel: Sendable {
    /// Where a package is.
    public enum Source: Sendable, CustomStringConvertible {
        /// A folder or an archive.
        case path(String)
        /// A package in the cache by its key: the 64 digits that `accelc cache list --json` prints. While the model lives, no
        /// process removes it.
        /// - Parameter root: the cache's folder; nil for `$ACCELC_CACHE`, else the platform's folder for caches.
        case cached(key: String, root: String? = nil)
        /// The current version of a model in a store, which its trust has accepted. While the model lives, its version stays.
        case stored(String, in: ModelStore)

        public var description: String {
            switch self {
            case .path(let path): path
            case .cached(let key, _): "key \(key)"
            case .stored(let name, _): "model \"\(name)\""
            }
        }
    }

    /// The package that is open.
    public let package: AcceleratorPackage
    /// The backend, and why it was chosen.
    public let info: SessionInfo
    /// The functions in the package's order.
    public let functions: [FunctionDescription]
    let loaded: any LoadedModel
    let pool: SessionPool
    /// The text at its ends, once it was asked for.
    let frontEnd = Locked<TextFrontEnd?>(nil)
    /// Keeps a cached package where it is.
    private let lease: CachedPackage?
    /// Keeps a stored version where it is, and decides about it.
    private let use: Locked<StoreUse?>

    /// Opens a package: checks it, chooses a backend, and loads it there.
    /// - Parameters:
    ///   - source: where the package is.
    ///   - trust: what it has to pass before.
    ///   - configuration: backends, threads, memory.
    ///   - progress: as for `Backend.load`.
    /// - Throws: `AccelError`: (not found), (corrupt), (untrusted), (memory), or (unsupported) with the attempts of all backends,
    ///   (timed out) if `preparationLimit` was over for one of them.
    public init(
        _ source: Source, trust: Trust = .intact, configuration: Configuration = .automatic,
        progress: @escaping @Sendable (LoadingEvent) -> Void = { _ in }
    ) async throws(AccelError) {
        let opened: Opened
        var (use, lease): (StoreUse?, CachedPackage?)
        switch source {
        case .path(let path):
            opened = try await Self.open(try Self.package(at: path), trust, configuration, progress)
        case .cached(let key, let root):
            let cached = try Self.cached(key, root, at: "\(source)")
            lease = cached
            opened = try await Self.open(cached.package, trust, configuration, progress)
        case .stored(let name, let store):
            let bounded = configuration.bounded(by: store.profile)
            (opened, use) = try await store.opening(name) { path throws(AccelError) in
                let opened = try await Self.open(try Self.package(at: path), trust, bounded, progress)
                try store.trust.check(opened.package)
                return opened
            }
        }
        (package, self.lease, loaded, info) = (opened.package, lease, opened.loaded, opened.info)
        self.use = Locked(use)
        functions = loaded.functions
        pool = SessionPool(of: loaded, atMost: configuration.concurrency)
    }

    /// Opens a package that has been checked, and reads its text meanwhile; a package without text has none.
    package init(opened checked: AcceleratorPackage, configuration: Configuration) async throws(AccelError) {
        async let text = Result { try TextFrontEnd(files: checked.assetFiles) }
        let opened = try await Self.open(checked, .intact, configuration) { _ in }
        (package, lease, loaded, info) = (opened.package, nil, opened.loaded, opened.info)
        use = Locked(nil)
        functions = loaded.functions
        pool = SessionPool(of: loaded, atMost: configuration.concurrency)
        // What is wrong with it, `text` says.
        if let read = try? await text.get() { frontEnd.withLock { $0 = read } }
    }

    private struct Opened {
        let package: AcceleratorPackage
        let loaded: any LoadedModel
        let info: SessionInfo
    }

    private static func open(
        _ package: AcceleratorPackage, _ trust: Trust, _ configuration: Configuration,
        _ progress: @escaping @Sendable (LoadingEvent) -> Void
    ) async throws(AccelError) -> Opened {
        try trust.check(package)
        var request = BackendRequest(package, threads: configuration.threads)
        request.memoryLimit = configuration.memoryLimit
        let (loaded, info) = try await configuration.registry.load(
            request, by: configuration.backends, fallback: configuration.fallback, probed: configuration.probe,
            within: configuration.preparationLimit, progress: progress)
        return Opened(package: package, loaded: loaded, info: info)
    }

    private static func package(at path: String) throws(AccelError) -> AcceleratorPackage {
        do { return try BackendRequest(opening: path).package } catch { throw AccelError(error, at: path) }
    }

    private static func cached(_ key: String, _ root: String?, at place: String) throws(AccelError) -> CachedPackage {
        do {
            let cached = try CachedPackage.open(key: key, cache: root)
            try cached.package.check()
            return cached
        } catch let error as CacheMiss {
            throw AccelError(.notFound, "\(error)", at: place)
        } catch {
            throw AccelError(error, at: place)
        }
    }

    /// Binds the model to a version of a store.
    func keep(_ use: StoreUse) { self.use.withLock { $0 = use } }

    /// Makes a run of a function, and lets the store of the model know how it ended.
    func counting<Result>(_ run: () throws(AccelError) -> Result) throws(AccelError) -> Result {
        guard let use = use.withLock({ $0 }) else { return try run() }
        return try use.run(run)
    }

    /// A function by its name: the whole one, `model[batch=1,sequence=128]`, or the part's, `model`, if one function only has it.
    /// - Parameter shape: the numbers of symbolic dimensions that tell functions of a part apart; others may be left out.
    /// - Throws: `AccelError` (not found) with the functions that there are; (invalid) if more than one fits.
    public func function(_ name: String, shape: [String: Int]? = nil) throws(AccelError) -> AccelFunction {
        AccelFunction(try functions.function(name, shape: shape), of: self)
    }

    /// Makes a session: the functions over one memory of states, at their initial values.
    /// - Throws: `AccelError` (memory) if there is no memory for the states.
    public func makeSession() throws(AccelError) -> AccelSession { try AccelSession(of: self) }

    /// Frees the memory of runs that is not in use. What needs it next takes it again.
    public func trimMemory() { pool.trim() }

    /// The number of sessions that calls of functions have, in use or not.
    package var sessionCount: Int { pool.count }
}
