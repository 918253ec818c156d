public import AccelByteIO
public import AccelTensors
public import AccelWeightCompression

/// The unit of compression work: values, how they are encoded, and what the codec is told of their inputs. Its result lies in
/// the cache under `key`, for any process that has the same job.
///
/// The digest of the values stands for how they were derived: which tensors of which file, by which rule. So equal weights
/// of different layers, models or derivations are one job.
public struct WeightJob: Sendable {
    public let source: StoredTensor
    public let codec: any WeightCodec
    /// Digest of the statistics of the weight's inputs; nil: the codec is told nothing.
    public let statistics: Digest?
    public let key: CacheKey

    /// - Parameter content: `TreeDigest` of the values.
    init(_ source: StoredTensor, content: Digest, as codec: any WeightCodec, given statistics: Digest?) {
        (self.source, self.codec, self.statistics) = (source, codec, statistics)
        key = CacheKey(
            tensor: content, elementType: source.elementType, shape: source.shape, codec: codec, statistics: statistics)
    }

    /// Bytes of the values.
    public var byteCount: Int { source.bytes.count }
}
