public import AccelByteIO
public import AccelWeightCompression

/// The identity of statistics for a given model and samples.
public struct StatisticsLocation: Hashable, Sendable {
    /// The part of the model.
    public let part: String
    /// The first weight that is multiplied with these vectors.
    public let weight: String
    /// The digest of the part's encodings before this weight; nil if the statistics come from the original model, which
    /// makes them independent of the schemes.
    public let before: Digest?
}

/// Storage of statistics between runs, so that known statistics need no run of the model.
public protocol StatisticsMemory {
    /// Returns stored statistics; nil if there are none.
    func statistics(at location: StatisticsLocation) -> ActivationStatistics?
    /// Stores statistics.
    func keep(_ statistics: ActivationStatistics, at location: StatisticsLocation) throws
    /// Returns the content of an entry that a share of the work has added; nil if there is none, or if it is damaged.
    func content(of entry: String, at location: StatisticsLocation) -> ByteView?
}

/// The memory of several processes that make the same statistics: each adds entries for slices of the samples.
public protocol SharedStatisticsMemory: StatisticsMemory {
    /// The number of this process, from 0, and the number of all.
    var share: (number: Int, count: Int) { get }
    /// Whether entries reach the others in milliseconds, so that small work is worth sharing.
    var isNear: Bool { get }
    /// Returns those of some entries that a process has added.
    func present(_ entries: [String], at location: StatisticsLocation) -> Set<String>
    /// Adds an entry, of a content in parts.
    func keep(_ content: [ByteView], as entry: String, at location: StatisticsLocation) throws
    /// Removes an entry.
    func remove(_ entry: String, at location: StatisticsLocation)
    /// Claims the work on an entry, or on the statistics; nil while another process has the claim. It ends with the value.
    func claim(_ entry: String?, at location: StatisticsLocation) -> (any Sendable)?
    /// Waits a moment for other processes.
    /// - Throws: an error if this process is to stop.
    func wait() throws
}

extension SharedStatisticsMemory {
    /// Returns the pieces of work that this process begins with, of so many.
    func own(of count: Int) -> Range<Int> {
        let (number, processes) = share
        return count * number / processes..<count * (number + 1) / processes
    }

    /// Adds an entry that no process has made or works on.
    /// - Returns: whether it did.
    func make(_ entry: String, at location: StatisticsLocation, _ content: () throws -> [ByteView]) throws -> Bool {
        guard present([entry], at: location).isEmpty, let claim = claim(entry, at: location) else { return false }
        defer { withExtendedLifetime(claim) {} }
        // Who had the claim before may have made it.
        guard present([entry], at: location).isEmpty else { return false }
        try keep(content(), as: entry, at: location)
        return true
    }
}

/// The time that a process gives the others before it takes their work. They began at about the same time, and have as much to do.
struct Patience {
    private let end: ContinuousClock.Instant

    /// - Parameter start: when this process began its own work, which is done.
    init(after start: ContinuousClock.Instant) {
        let now = ContinuousClock.now
        end = now + (start.duration(to: now) * 2 + .seconds(1))
    }

    var isOver: Bool { ContinuousClock.now >= end }
}

/// The digest of all encodings so far.
struct StoredSoFar {
    private(set) var digest: Digest

    init(_ tensors: [CompressedTensor]) {
        digest = SHA256.digest(of: "nothing")
        for tensor in tensors.sorted(by: { $0.name < $1.name }) { add(tensor) }
    }

    mutating func add(_ tensor: CompressedTensor) {
        digest = SHA256.digest(of: "\(digest); \(tensor.name) as \(tensor.encodingDescription)")
    }
}

extension CompressedTensor {
    /// The scheme, and the digests of all sections.
    var encodingDescription: String {
        let sections = sections.map { TreeDigest.digest(of: $0).description }.joined(separator: ", ")
        return "\(codec.values.fullRequest): \(sections)"
    }
}
