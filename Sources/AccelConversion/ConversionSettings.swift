public import AccelPackages
public import AccelTensors

/// How a conversion or an export runs: nothing here changes a byte of its result.
public struct ConversionSettings: Sendable {
    /// Where results of earlier runs are found and new ones kept; nil: nowhere.
    public var cache: Cache?
    public var threads: Int
    /// Everything is made anew and compared with what the cache has.
    public var comparesWithCache = false
    /// With a target: where the compression plan is published, as a folder. nil: beside the package, as `OUT.plan`.
    public var planFolder: String?
    /// Ends every run with these settings and with copies of them.
    public var cancellation = Cancellation()

    public init(cache: Cache? = nil, threads: Int = Parallel.processorCount) {
        (self.cache, self.threads) = (cache, threads)
    }
}
