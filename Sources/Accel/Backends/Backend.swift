import AccelByteIO
import AccelCPURuntime
public import AccelPackages
import AccelPrograms

/// The name of a backend, e.g. `cpu`.
public struct BackendID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }
}

/// A runtime for models: the CPU, a system framework, or a plug-in. A backend is a folder in `Backends/` and a line in
/// `Backends.standard`; `BackendConformance` in the tests checks the contract.
///
/// Requests, ports and tensors consist of names, types, shapes and bytes, so that a type with function pointers can wrap a
/// backend written in C.
public protocol Backend: Sendable {
    /// The unique name.
    var id: BackendID { get }
    /// Assesses whether the backend can run a model, and how well, without loading it. A suitable model must load.
    func assess(_ request: BackendRequest) async -> Assessment
    /// Loads a model, so that it is ready to run. Loading that takes long ends early once its task is cancelled.
    /// - Parameter progress: receives the progress, ending with `ready`; on any thread.
    /// - Throws: `AccelError`; its code is `unsupported` if the assessment is unsuitable, and `cancelled` in a cancelled task.
    func load(
        _ request: BackendRequest, progress: @escaping @Sendable (LoadingEvent) -> Void
    ) async throws(AccelError) -> any LoadedModel
}

/// A request to load a package, with limits of resources.
public struct BackendRequest: Sendable {
    /// The package to run; its files are trusted to be intact.
    public let package: AcceleratorPackage
    /// Number of threads of one run, at most.
    public var threads: Int
    /// Limit of the bytes for values and states of one session; nil for the machine's memory.
    public var memoryLimit: Int?

    /// The execution plans, once they are made.
    private let plan = Locked<ModelPlan?>(nil)

    /// A request for a package that has been checked, or that is trusted to be intact.
    public init(_ package: AcceleratorPackage, threads: Int = 1, memoryLimit: Int? = nil) {
        self.package = package
        self.threads = threads
        self.memoryLimit = memoryLimit
    }

    /// A request for the package at a path, after a check of every file against its digest.
    /// - Throws: `AccelError` (not found) if there is no package; (corrupt) with the file that is corrupt.
    public init(opening path: String, threads: Int = 1, memoryLimit: Int? = nil) throws(AccelError) {
        // The layers below know one status for what is missing and for too little memory.
        guard Files.kind(of: path) != nil else { throw AccelError(.notFound, "there is no package", at: path) }
        do {
            let package = try AcceleratorPackage(at: path)
            try package.check()
            self.init(package, threads: threads, memoryLimit: memoryLimit)
        } catch {
            throw AccelError(error, at: "")
        }
    }
}

extension BackendRequest {
    /// The execution plans of the package's functions, which are made once.
    func planned() throws -> ModelPlan {
        try plan.withLock { plan in
            let made = try plan ?? package.graph.planned()
            plan = made
            return made
        }
    }
}

/// A backend's judgement of a model before loading.
public enum Assessment: Equatable, Sendable {
    /// The backend can load the model now. The suitable backend of the highest priority is chosen.
    case suitable(priority: BackendPriority, notes: [String])
    /// The backend can load the model after a preparation of about this duration.
    case needsPreparation(expected: Duration)
    /// The backend cannot load the model; the reason names the missing feature or resource.
    case unsuitable(reason: String)
}

/// The rank of a backend; higher is preferred.
public struct BackendPriority: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Chosen by name only.
    public static let onRequest = BackendPriority(rawValue: .min)
    /// A general processor, such as the CPU.
    public static let processor = BackendPriority(rawValue: 100)
    /// Hardware made for neural networks.
    public static let accelerator = BackendPriority(rawValue: 200)

    public static func < (left: BackendPriority, right: BackendPriority) -> Bool { left.rawValue < right.rawValue }
}

/// Progress of loading a model.
public struct LoadingEvent: Equatable, Sendable {
    /// The kind of an event. Later versions may add kinds.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The package is compared with its digests. Backends have no such event.
        public static let checking = Kind(rawValue: "checking")
        /// A part of the work is done.
        public static let preparing = Kind(rawValue: "preparing")
        /// A backend has failed to load the model, and the next one is tried. Backends have no such event.
        public static let fellBack = Kind(rawValue: "fell back")
        /// The model can run; the last event.
        public static let ready = Kind(rawValue: "ready")
    }
    /// The kind of the event.
    public let kind: Kind
    /// The completed fraction of the work of one backend, from 0 to 1; it never decreases.
    public let fraction: Double
    /// The attempt that failed; nil but for `fellBack`.
    public private(set) var attempt: BackendAttempt?

    private init(kind: Kind, fraction: Double) { (self.kind, self.fraction) = (kind, fraction) }

    /// The package is compared with its digests.
    public static let checking = LoadingEvent(kind: .checking, fraction: 0)
    /// A backend has failed to load the model, and the next one is tried.
    public static func fellBack(_ attempt: BackendAttempt) -> LoadingEvent {
        var event = LoadingEvent(kind: .fellBack, fraction: 0)
        event.attempt = attempt
        return event
    }
    /// A part of the work is done.
    public static func preparing(_ fraction: Double) -> LoadingEvent {
        LoadingEvent(kind: .preparing, fraction: fraction)
    }
    /// The model can run.
    public static let ready = LoadingEvent(kind: .ready, fraction: 1)
}
