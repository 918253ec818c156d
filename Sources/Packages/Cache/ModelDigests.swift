import ByteIO
public import Tensors

/// What a model's files and tensors hold, by their digests. Files that have not changed since they were last read are
/// not read again.
public struct ModelDigests: Sendable {
    /// The weight files and assets, for provenance and key.
    public let sources: [Provenance.Source]
    /// `TreeDigest` of each tensor's bytes, by where they are mapped. (A name would not do: what a
    /// model family makes of tensors may be called like one.)
    private let tensors: [Place: Digest]
    /// Keeps the places from being used for anything else.
    private let maps: [ByteView]
    private let identities: [(path: String, identity: FileIdentity)]

    /// - Parameter cache: nil: nothing is remembered.
    /// - Throws: `RequestError` when a file cannot be read or changes while it is read.
    public init(_ checkpoint: Checkpoint, cache: Cache?, threads: Int) throws {
        let files = checkpoint.files.map { file in
            SourceFile(
                name: Files.name(of: file.path), path: file.path, identity: file.identity, bytes: file.bytes,
                tensors: file.tensors)
        }
        let assets = try checkpoint.assets.map { asset in
            let file = try MappedFile(asset.path)
            return SourceFile(
                name: asset.name, path: asset.path, identity: file.identity, bytes: file.bytes, tensors: [])
        }
        var sources: [Provenance.Source] = []
        var tensors: [Place: Digest] = [:]
        for file in files + assets {
            let memo = try file.memo(cache, threads: threads)
            sources.append(Provenance.Source(name: file.name, byteCount: file.bytes.count, digest: memo.file))
            for (tensor, digest) in zip(file.tensors, memo.tensors) { tensors[Place(tensor.bytes)] = digest }
        }
        self.sources = sources.sorted { $0.name < $1.name }
        self.tensors = tensors
        maps = files.map(\.bytes)
        identities = (files + assets).compactMap { file in file.identity.map { (file.path, $0) } }
        try requireUnchanged()
    }

    /// `TreeDigest` of a tensor's bytes. A tensor that is not one of the files' (a part of one, or one that was made of
    /// others) is read for it.
    func digest(of tensor: StoredTensor) -> Digest {
        tensors[Place(tensor.bytes)] ?? TreeDigest.digest(of: tensor.bytes)
    }

    /// - Throws: `RequestError` when a file is not the one any more that was read. Call it before the result is kept.
    public func requireUnchanged() throws {
        for (path, identity) in identities where Files.identity(of: path) != identity {
            throw RequestError(
                "\(path) changed while it was being read; run again once it is whole", status: .corrupt)
        }
    }
}

private struct SourceFile {
    var name: String
    var path: String
    var identity: FileIdentity?
    var bytes: ByteView
    var tensors: [StoredTensor]

    func memo(_ cache: Cache?, threads: Int) throws -> DigestMemo {
        if let identity, let memo = cache?.memo(identity, tensors: tensors.count) { return memo }
        // All but the tensors comes before them; they follow each other without a gap.
        let header = bytes[0..<bytes.count - tensors.reduce(0) { $0 + $1.bytes.count }]
        let digests = try TreeDigest.digests(of: [header] + tensors.map(\.bytes), threads: threads)
        let nowhere = FileIdentity(device: 0, inode: 0, size: 0, modifiedNanoseconds: 0, changedNanoseconds: 0)
        let memo = DigestMemo(
            identity: identity ?? nowhere, file: tensors.isEmpty ? digests[0] : TreeDigest.combining(digests),
            tensors: Array(digests[1...]))
        if identity != nil, identity == Files.identity(of: path) { cache?.store(memo) }
        return memo
    }
}
