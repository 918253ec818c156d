public import ByteIO
public import Tensors
public import WeightCompression

/// Keeps finished tensors in files that have no name any more, so that memory does not grow with the model. They are
/// gone with their last reader, however the tool ends.
public final class TensorSpill: Sendable {
    /// Smaller tensors stay in memory.
    private static let minimumBytes = 1 << 16
    private let folder: String
    private let draft: PackageDraft?

    /// - Parameters:
    ///   - output: what is being made; the files are beside it, where there has to be space for it anyway.
    ///   - draft: the package that is being made, which takes the tensors instead when their turn comes.
    public init(beside output: String, draft: PackageDraft? = nil) {
        folder = Files.parentFolder(of: output) ?? "."
        self.draft = draft
    }

    /// The same tensor in a file, or in memory still where no file can be written.
    /// - Throws: `RequestError` when the draft cannot be written.
    public func keep(_ tensor: CompressedTensor) throws -> CompressedTensor {
        try draft?.keep(tensor, spill: spill) ?? spill(tensor)
    }

    private func spill(_ tensor: CompressedTensor) -> CompressedTensor {
        guard tensor.byteCount >= Self.minimumBytes else { return tensor }
        return (try? spilled(tensor)) ?? tensor
    }

    private func spilled(_ tensor: CompressedTensor) throws -> CompressedTensor {
        let name = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 16) }.joined()
        let path = "\(folder)/.accelc-\(name).tensor"
        var file = try AtomicFile(replacing: path, mode: 0o600, isSynced: false)
        for part in tensor.joinedParts { try file.write(part) }
        // Not committed: the file is gone at once, its map stays.
        return try tensor.replacingSections(by: try file.mapped())
    }
}

/// Where a conversion finds compressed tensors, and where it puts them:
///
///     let kept = KeptTensors(cache: cache, digests: digests, output: path, model: name)
///     try recipe.compressing(functions, threads: n, stored: kept.stored, store: kept.store)
public struct KeptTensors: Sendable {
    private let cache: Cache?
    private let digests: ModelDigests?
    private let spill: TensorSpill
    private let model: String

    /// - Parameters:
    ///   - digests: of the model's files; nil: nothing is looked up in the cache.
    ///   - draft: the package that is being made of the tensors.
    ///   - model: what lists call the model.
    public init(cache: Cache?, digests: ModelDigests?, output: String, draft: PackageDraft? = nil, model: String) {
        self.cache = cache
        self.digests = digests
        self.model = model
        spill = TensorSpill(beside: output, draft: draft)
    }

    public func stored(
        _ source: StoredTensor, _ codec: any WeightCodec
    ) throws -> (CompressedTensor, Distortion)? { try stored(source, codec, nil) }

    public func store(
        _ source: StoredTensor, _ tensor: CompressedTensor, _ distortion: Distortion
    ) throws -> CompressedTensor { try store(source, tensor, distortion, nil) }

    /// - Parameter statistics: digest of what the codec is told of the weight's inputs.
    public func stored(
        _ source: StoredTensor, _ codec: any WeightCodec, _ statistics: Digest?
    ) throws -> (CompressedTensor, Distortion)? {
        guard let cache, let key = key(source, codec, statistics),
            case .success(let found) = cache.tensor(for: key, source: source, codec: codec)
        else { return nil }
        return (found.tensor, found.distortion)
    }

    public func store(
        _ source: StoredTensor, _ tensor: CompressedTensor, _ distortion: Distortion, _ statistics: Digest?
    ) throws -> CompressedTensor {
        if let cache, let key = key(source, tensor.codec, statistics),
            let kept = cache.store(tensor, distortion, for: key, model: model)
        {
            return kept
        }
        return try spill.keep(tensor)
    }

    private func key(_ source: StoredTensor, _ codec: any WeightCodec, _ statistics: Digest?) -> CacheKey? {
        digests.map { digests in
            CacheKey(
                tensor: digests.digest(of: source), elementType: source.elementType, shape: source.shape, codec: codec,
                statistics: statistics)
        }
    }
}
