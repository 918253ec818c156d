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
