import AccelByteIO
import AccelTensors

/// How a model is opened and run. A configuration never changes what a model computes beyond the backend's own rounding.
public struct Configuration: Sendable {
    /// The backends that there are.
    public var registry = Backends.standard
    /// The backends that may run the model.
    public var backends = BackendChoice.automatic
    /// Whether the next backend is tried after one that fails to load the model.
    public var fallback = BackendFallback.atOpening
    /// The number of threads of one run, at most.
    public var threads: Int
    /// The bytes for values and states of one session, at most; nil for the machine's memory.
    public var memoryLimit: Int?
    /// Whether a backend has to give the numbers of the package's probe when it opens the model. One that does not is passed
    /// over; a package without a probe is an error.
    public var probe = false
    /// The time that each backend has to get ready, e.g. to compile the model for its hardware. One that needs longer is passed over
    /// as one that fails is; nil for no limit.
    public var preparationLimit: Duration?
    /// The number of runs of the model's functions at the same time, at most; further calls wait. Sessions do not count.
    public var concurrency = 1

    /// The best suitable backend, and one run at a time on all processors.
    /// - Parameter threads: the number of threads of one run, at most; nil for one on each processor.
    public init(threads: Int? = nil) { self.threads = threads ?? Parallel.processorCount }

    /// The best suitable backend, and one run at a time on all processors: each run is as fast as it can be.
    public static let automatic = Configuration()
    /// One run at a time on all processors, without fallback: a backend that fails is an error at once.
    public static let lowLatency: Configuration = {
        var configuration = Configuration()
        configuration.fallback = .never
        return configuration
    }()
    /// One thread and one run at a time: the least memory for values and packed weights.
    public static let lowMemory = Configuration(threads: 1)
    /// One thread, so that the app's other work goes on.
    public static let background = Configuration(threads: 1)
    /// The CPU alone, whose results are the same bits on every processor and with every number of threads.
    public static let reproducible: Configuration = {
        var configuration = Configuration()
        (configuration.backends, configuration.fallback) = (.only(.cpu), .never)
        return configuration
    }()
}

/// The check that a package has to pass before it is opened.
public enum Trust: Sendable {
    /// Every byte fits the package's digests.
    case intact
    /// Every byte fits the digests, and a verifier accepts the package's signature.
    case signed(any SignatureVerifier)
}
