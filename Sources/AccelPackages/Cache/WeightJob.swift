public import AccelByteIO
public import AccelTensors
public import AccelWeightCompression

/// A unit of compression work: values, their codec, and the statistics that the codec gets. The result is cached under
/// `key`, for every process with the same job.
///
/// The digest of the values stands for their derivation from tensors of files, so equal weights of different layers,
/// models or derivations are one job.
public struct WeightJob: Sendable {
    /// The weight.
    public let source: StoredTensor
    /// The codec that encodes it.
    public let codec: any WeightCodec
    /// The digest of the activation statistics that the codec gets; nil for none.
    public let statistics: Digest?
    /// The cache key of the result.
    public let key: CacheKey

    /// - Parameter content: the `TreeDigest` of the values.
    init(_ source: StoredTensor, content: Digest, as codec: any WeightCodec, given statistics: Digest?) {
        (self.source, self.codec, self.statistics) = (source, codec, statistics)
        key = CacheKey(
            tensor: content, elementType: source.elementType, shape: source.shape, codec: codec, statistics: statistics)
    }

    /// The size of the values in bytes.
    public var byteCount: Int { source.bytes.count }
}
