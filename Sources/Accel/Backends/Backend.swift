public import AccelPackages

/// The name of a backend, e.g. `cpu`.
public struct BackendID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }
}

/// Something that runs models: this processor, a framework of the system, a plug-in. A backend is a folder in `Backends/`
/// and a line in `Backends.standard`; `BackendConformance` in the tests says what holds for each.
///
/// A backend that is written in C is one value of a type that keeps its function pointers: requests, ports and tensors are
/// names, types, shapes and bytes.
public protocol Backend: Sendable {
    var id: BackendID { get }
    /// Says whether the backend can run a model, and how well, without loading it: what is assessed as suitable loads.
    func assess(_ request: BackendRequest) async -> Assessment
    /// Makes a model ready to run.
    /// - Parameter progress: gets what is done, at last `ready`; on any thread.
    /// - Throws: `AccelError`. `unsupported` where the assessment is unsuitable.
    func load(
        _ request: BackendRequest, progress: @escaping @Sendable (LoadingEvent) -> Void
    ) async throws(AccelError) -> any LoadedModel
}

/// A model that a backend is asked to run, and how.
public struct BackendRequest: Sendable {
    public let package: AcceleratorPackage
    /// At most so many threads work on a run.
    public var threads: Int
    /// Bytes that values and states of one session may take at most; nil: what the machine has.
    public var memoryLimit: Int?

    /// A request for a package that has been checked, or that is trusted to be intact.
    public init(_ package: AcceleratorPackage, threads: Int = 1, memoryLimit: Int? = nil) {
        self.package = package
        self.threads = threads
        self.memoryLimit = memoryLimit
    }

    /// A request for a package whose every byte is read against its digest. No backend sees one that is not whole.
    /// - Throws: `AccelError` (corrupt) naming the file that is wrong; `AccelError` when there is no package.
    public init(opening path: String, threads: Int = 1, memoryLimit: Int? = nil) throws(AccelError) {
        do {
            let package = try AcceleratorPackage(at: path)
            try package.check()
            self.init(package, threads: threads, memoryLimit: memoryLimit)
        } catch {
            throw AccelError(error, at: "")
        }
    }
}

/// What a backend says of a model before it is loaded.
public enum Assessment: Equatable, Sendable {
    /// It loads now. Of several backends, the one of the highest priority is chosen.
    case suitable(priority: BackendPriority, notes: [String])
    /// It loads after a preparation that takes so long.
    case needsPreparation(expected: Duration)
    /// It does not load, for a reason that names what is missing.
    case unsuitable(reason: String)
}

/// How much a backend is to be preferred; the higher, the more.
public struct BackendPriority: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Never chosen but by name.
    public static let onRequest = BackendPriority(rawValue: .min)
    /// A processor that is always there.
    public static let processor = BackendPriority(rawValue: 100)
    /// Hardware made for such models.
    public static let accelerator = BackendPriority(rawValue: 200)

    public static func < (left: BackendPriority, right: BackendPriority) -> Bool { left.rawValue < right.rawValue }
}

/// What loading has come to.
public struct LoadingEvent: Equatable, Sendable {
    public struct Kind: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let preparing = Kind(rawValue: "preparing")
        public static let ready = Kind(rawValue: "ready")
    }
    public let kind: Kind
    /// Of all work, from 0 to 1; it does not go down.
    public let fraction: Double

    /// A part of the work is done.
    public static func preparing(_ fraction: Double) -> LoadingEvent {
        LoadingEvent(kind: .preparing, fraction: fraction)
    }
    /// The model can run.
    public static let ready = LoadingEvent(kind: .ready, fraction: 1)
}
