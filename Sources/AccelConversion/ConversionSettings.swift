public import AccelPackages
public import AccelTensors

/// Settings of a run that do not affect its result.
public struct ConversionSettings: Sendable {
    /// The cache of results; nil for none.
    public var cache: Cache?
    /// Number of threads to use at most.
    public var threads: Int
    /// Makes everything again and compares it with the cached results.
    public var comparesWithCache = false
    /// The folder for the compression plan of a target; nil for `OUT.plan` beside the package.
    public var planFolder: String?
    /// A target leaves a compression plan beside its output. The statistics in it may be larger than the output.
    public var writesPlan = true
    /// Cancels every run with these settings. Copies of the settings share it.
    public var cancellation = Cancellation()

    /// Settings with a cache and a number of threads, by default one thread for each processor.
    public init(cache: Cache? = nil, threads: Int = Parallel.processorCount) {
        (self.cache, self.threads) = (cache, threads)
    }
}
