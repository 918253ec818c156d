public import AccelByteIO
public import AccelWeightCompression

/// Which statistics of the same model and samples: those of a weight's inputs, with the weights before it as they are
/// stored.
public struct StatisticsPlace: Hashable, Sendable {
    /// The part of the model.
    public let part: String
    /// The first weight that is multiplied with these vectors.
    public let weight: String
    /// Of all that is stored of the part so far; nil: the model is as it was, whatever the scheme.
    public let before: Digest?
}

/// Keeps statistics from run to run, so that the model need not run again for what is known.
public protocol StatisticsMemory {
    func statistics(at place: StatisticsPlace) -> ActivationStatistics?
    func keep(_ statistics: ActivationStatistics, at place: StatisticsPlace) throws
}

/// What has been stored so far, by what is in it.
struct StoredSoFar {
    private(set) var digest: Digest

    init(_ tensors: [CompressedTensor]) {
        digest = SHA256.digest(of: "nothing")
        for tensor in tensors.sorted(by: { $0.name < $1.name }) { add(tensor) }
    }

    mutating func add(_ tensor: CompressedTensor) {
        let sections = tensor.sections.map { TreeDigest.digest(of: $0).description }.joined(separator: ", ")
        digest = SHA256.digest(of: "\(digest); \(tensor.name) as \(tensor.codec.values.fullRequest): \(sections)")
    }
}
