import AccelByteIO
import AccelHostTools
import AccelPackages

/// The cache of a command.
enum CacheChoice {
    static let folder = Option(
        "cache", .location("DIR"), in: .cache,
        "the folder of the conversion cache. It holds the results of earlier conversions (default: $ACCELC_CACHE, else the platform's folder for caches)"
    )
    static let none = Option(
        "no-cache", .flag, in: .cache, "neither read nor store results in the cache",
        excludes: ["cache", "remote-cache", "remote-read-only", "cache-durability", "trust-shared-cache"])
    static let durability = Option(
        "cache-durability", .words(CacheDurability.allCases.map(\.rawValue)), in: .cache,
        "how cache writes survive a power cut. none does not wait for the drive, fsync waits until the drive has the data, and full "
            + "waits until the drive has stored them. A damaged result is never used",
        default: CacheDurability.none.rawValue)
    static let verify = Option(
        "verify-cache", .flag, in: .cache,
        "convert again, and compare the result with the cache. The exit status is 1 if they differ",
        excludes: ["no-cache"])
    static let remote = Option(
        "remote-cache", .text("URL"), in: .cache,
        "a cache server, such as bazel-remote or nginx with WebDAV. Results that the local cache lacks are read from it (weights "
            + "from 256 KiB on), and new results are stored there, by GET, HEAD and PUT of URL/ac/KEY and URL/cas/KEY. "
            + "$ACCELC_REMOTE_AUTHORIZATION is sent as the header Authorization (default: $ACCELC_REMOTE_CACHE)")
    static let trustShared = Option(
        "trust-shared-cache", .flag, in: .cache,
        "use a cache that other users own or can write to. They control its results. $ACCELC_TRUST_SHARED_CACHE=1 does the same"
    )
    static let remoteReadOnly = Option(
        "remote-read-only", .flag, in: .cache, "read from the cache server, and store nothing there")
    /// The options of commands that look up results.
    static let locations = [folder, trustShared, remote, remoteReadOnly]
    /// The options of commands that make results.
    static let options = locations + [none, durability]

    /// Returns nil if the cache is switched off, or if there is no default location for one.
    static func cache(_ arguments: Arguments, _ console: Console) throws -> Cache? {
        let durability = arguments[durability].flatMap(CacheDurability.init)
        guard !arguments.has(none), let root = arguments[folder] ?? Cache.defaultRoot() else { return nil }
        let warn = console.warner()
        let address = arguments[remote] ?? ProcessEnvironment.text("ACCELC_REMOTE_CACHE")
        if address == nil, arguments.has(remoteReadOnly) {
            throw arguments.usage(
                "takes --remote-read-only only with --remote-cache, or where ACCELC_REMOTE_CACHE is set")
        }
        let server = try address.map {
            try RemoteCache(
                url: $0, transport: CurlTransport(), isReadOnly: arguments.has(remoteReadOnly),
                authorization: ProcessEnvironment.value("ACCELC_REMOTE_AUTHORIZATION"), warn: warn)
        }
        let trust = ProcessEnvironment.value("ACCELC_TRUST_SHARED_CACHE") ?? ""
        return Cache(
            root: root, durability: durability ?? .none, remote: server,
            trustsOthers: arguments.has(trustShared) || !["", "0"].contains(trust), warn: warn)
    }

    /// Reports the result of `--verify-cache`.
    static func report(_ comparison: CacheComparison, _ console: Console) -> ExitStatus {
        let (count, missing, differing) = (comparison.count, comparison.missing, comparison.differing)
        guard count > 0 else {
            console.note("nothing to compare: the cache has no result of this")
            return .success
        }
        let others =
            missing == 0 ? "" : "; \(Wording.count(missing, "result")) \(missing == 1 ? "was" : "were") not in it"
        guard !differing.isEmpty else {
            console.note("compared \(Wording.count(count, "result")) with the cache: the same bytes\(others)")
            return .success
        }
        console.error(
            "\(differing.count) of \(Wording.count(count, "result")) differ from what the cache has: "
                + Wording.listed(differing, most: 5) + others)
        return .exceeded
    }
}

extension CacheComparison {
    /// How many results were compared, how many the cache did not have, and the names of those that differ.
    var json: JSON {
        [
            "compared": .int(count), "missing": .int(missing),
            "differing": .texts(differing),
        ]
    }
}
