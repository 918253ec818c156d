import AccelByteIO
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

        public var description: String {
            switch self {
            case .path(let path): path
            case .cached(let key, _): "key \(key)"
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
    /// Keeps a cached package where it is.
    private let lease: CachedPackage?

    /// Opens a package: checks it, chooses a backend, and loads it there.
    /// - Parameters:
    ///   - source: where the package is.
    ///   - trust: what it has to pass before.
    ///   - configuration: backends, threads, memory.
    ///   - progress: as for `Backend.load`.
    /// - Throws: `AccelError`: (not found), (corrupt), (untrusted), (memory), or (unsupported) with the attempts of all backends.
    public init(
        _ source: Source, trust: Trust = .intact, configuration: Configuration = .automatic,
        progress: @escaping @Sendable (LoadingEvent) -> Void = { _ in }
    ) async throws(AccelError) {
        (package, lease) = try Self.open(source, trust)
        var request = BackendRequest(package, threads: configuration.threads)
        request.memoryLimit = configuration.memoryLimit
        let loaded: any LoadedModel
        (loaded, info) = try await configuration.registry.load(
            request, by: configuration.backends, fallback: configuration.fallback, probed: configuration.probe,
            progress: progress)
        self.loaded = loaded
        functions = loaded.functions
        pool = SessionPool(of: loaded, atMost: configuration.concurrency)
    }

    private static func open(
        _ source: Source, _ trust: Trust
    ) throws(AccelError) -> (AcceleratorPackage, CachedPackage?) {
        var (opened, lease): (AcceleratorPackage, CachedPackage?)
        do {
            switch source {
            case .path(let path): (opened, lease) = (try BackendRequest(opening: path).package, nil)
            case .cached(let key, let root):
                let cached = try CachedPackage.open(key: key, cache: root)
                try cached.package.check()
                (opened, lease) = (cached.package, cached)
            }
        } catch let error as CacheMiss {
            throw AccelError(.notFound, "\(error)", at: "\(source)")
        } catch {
            throw AccelError(error, at: "\(source)")
        }
        if case .signed(let verifier) = trust {
            do { try verifier.verify(opened) } catch {
                throw AccelError(.untrusted, "\(error)", at: opened.path, hint: "sign it with `accelc sign`")
            }
        }
        return (opened, lease)
    }

    /// A function by its name: the whole one, `model[batch=1,sequence=128]`, or the part's, `model`, if one function only has it.
    /// - Parameter shape: the numbers of symbolic dimensions that tell functions of a part apart; others may be left out.
    /// - Throws: `AccelError` (not found) with the functions that there are; (invalid) if more than one fits.
    public func function(_ name: String, shape: [String: Int]? = nil) throws(AccelError) -> AccelFunction {
        var found = functions.filter { $0.name == name }
        if found.isEmpty { found = functions.filter { $0.part == name } }
        if found.isEmpty {
            let names = functions.map(\.name)
            throw AccelError(
                .notFound, "there is no such function; there is: \(names.joined(separator: ", "))",
                at: "function \"\(name)\"",
                hint: AccelError.suggestion(for: name, among: names + functions.map(\.part)))
        }
        let known = found
        if let shape { found.removeAll { function in shape.contains { function.bindings[$0.key] != $0.value } } }
        guard found.count == 1 else {
            let wanted = (shape ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(
                separator: ",")
            let names = known.map(\.name).joined(separator: ", ")
            if found.isEmpty {
                throw AccelError(
                    .notFound, "no function has the shape \(wanted); there is: \(names)", at: "function \"\(name)\"")
            }
            throw AccelError(
                .invalid, "\(found.count) functions fit: \(found.map(\.name).joined(separator: ", "))",
                at: "function \"\(name)\"", hint: "name one of them, or give `shape:`")
        }
        return AccelFunction(found[0], of: self)
    }

    /// Makes a session: the functions over one memory of states, at their initial values.
    /// - Throws: `AccelError` (memory) if there is no memory for the states.
    public func makeSession() throws(AccelError) -> AccelSession { try AccelSession(of: self) }

    /// Frees the memory of runs that is not in use. What needs it next takes it again.
    public func trimMemory() { pool.trim() }

    /// The number of sessions that calls of functions have, in use or not.
    package var sessionCount: Int { pool.count }
}
