import AccelByteIO
public import AccelTensors

/// The digests of a model's files and tensors. Files that have not changed since they were last read are not read again
/// for a lookup.
///
/// Weights are mapped, so their bytes may change between hashing and use. Therefore everything that is stored under a
/// digest is made from a `copy`, whose own bytes have that digest; and `requireUnchanged` hashes again all tensors that
/// were used in another way.
public final class ModelDigests: Sendable {
    private let reader: ModelFiles
    private let files: [ModelFiles.Source]
    private let known: [Provenance.Source]
    /// For each file, the digest of its content in private memory.
    private let contents: [Digest]
    private let cache: Cache?
    private let threads: Int
    private let state: Locked<State>

    private struct State {
        /// The `TreeDigest` of bytes by their address in a map. (Names are not unique: a family may give a derived
        /// tensor the name of another one.)
        var known: [MemoryRange: Digest] = [:]
        /// The addresses of tensors of which a copy had the digest.
        var confirmed: Set<MemoryRange> = []
    }

    /// Looks up or computes the digests of a model.
    /// - Parameter cache: remembers digests; nil if nothing is hashed before it is needed.
    /// - Throws: `RequestError` if a file cannot be read, or changes while it is read.
    public convenience init(_ checkpoint: Checkpoint, cache: Cache?, threads: Int) throws {
        try self.init(checkpoint.reader, cache: cache, threads: threads)
    }

    /// Looks up or computes the digests of files.
    /// - Parameters:
    ///   - known: further sources, with digests that their format guarantees.
    ///   - cache: remembers digests; nil if nothing is hashed before it is needed.
    /// - Throws: `RequestError` if a file cannot be read, or changes while it is read.
    public init(_ reader: ModelFiles, known: [Provenance.Source] = [], cache: Cache?, threads: Int) throws {
        (self.reader, self.known) = (reader, known)
        files = reader.sources
        contents = files.map { TreeDigest.digest(of: $0.content) }
        self.cache = cache
        self.threads = threads
        state = Locked(State())
        if cache != nil {
            for index in files.indices where !files[index].tensors.isEmpty { try remember(index) }
            try requireSameFiles()
        }
    }

    /// Takes the digests of a file's tensors from an earlier run, or computes them.
    private func remember(_ index: Int) throws {
        let file = files[index]
        let ranges = file.tensors.map { MemoryRange($0.bytes) }
        if let identity = file.identity, let memo = cache?.memo(identity, tensors: ranges.count),
            memo.file == digest(ofFile: index, memo.tensors)
        {
            return state.withLock { state in
                for (range, digest) in zip(ranges, memo.tensors) { state.known[range] = digest }
            }
        }
        let synced = SyncedFile(file.path)
        let read = cache?.now ?? 0
        try hash(file.tensors)
        let digests = file.tensors.map(digest)
        if let synced, synced.identity == file.identity, synced.isUnchanged {
            cache?.store(
                DigestMemo(
                    identity: synced.identity, read: read, file: digest(ofFile: index, digests), tensors: digests))
        }
    }

    private func hash(_ tensors: [StoredTensor]) throws {
        let digests = try TreeDigest.digests(of: tensors.map(\.bytes), threads: threads)
        state.withLock { state in
            for (tensor, digest) in zip(tensors, digests) { state.known[MemoryRange(tensor.bytes)] = digest }
        }
    }

    /// Hashes all tensors without a digest.
    /// - Parameter later: tensors that will be hashed as copies.
    public func complete(except later: [StoredTensor] = []) throws {
        let later = Set(later.map { MemoryRange($0.bytes) })
        try hash(
            state.withLock { state in
                files.flatMap(\.tensors).filter {
                    let range = MemoryRange($0.bytes)
                    return state.known[range] == nil && !later.contains(range)
                }
            })
    }

    /// Every file of the model with its digest, for provenance and cache keys.
    public var sources: [Provenance.Source] {
        let hashed = files.enumerated().map { index, file in
            Provenance.Source(
                name: file.name, byteCount: file.byteCount, digest: digest(ofFile: index, file.tensors.map(digest)))
        }
        return (known + hashed).sorted { $0.name < $1.name }
    }

    /// Returns the digest of a file, as in `Provenance.Source`.
    private func digest(ofFile index: Int, _ tensors: [Digest]) -> Digest {
        tensors.isEmpty ? contents[index] : TreeDigest.combining([contents[index]] + tensors)
    }

    /// Returns the `TreeDigest` of a tensor's bytes at the first request.
    func digest(of tensor: StoredTensor) -> Digest {
        let range = MemoryRange(tensor.bytes)
        if let known = state.withLock({ $0.known[range] }) { return known }
        let digest = TreeDigest.digest(of: tensor.bytes)
        guard isMapped(range) else { return digest }
        return state.withLock { state in
            let known = state.known[range] ?? digest
            state.known[range] = known
            return known
        }
    }

    /// Returns whether an address is within a map of the model. Maps keep their addresses while this value lives; other
    /// memory may be reused, but no other process writes to it.
    private func isMapped(_ range: MemoryRange) -> Bool {
        !range.isDerived
            && files.contains { file in
                guard let first = file.tensors.first, let last = file.tensors.last else { return false }
                let (start, end) = (MemoryRange(first.bytes).start, MemoryRange(last.bytes))
                return range.start >= start && range.start < end.start + UInt(end.count)
            }
    }

    /// Returns a private copy of a tensor, whose bytes have the known digest. Bytes that are computed when they are read stay so.
    /// - Throws: `RequestError` if they do not, because the file has changed.
    func copy(of tensor: StoredTensor, threads: Int) throws -> StoredTensor {
        let range = MemoryRange(tensor.bytes)
        guard isMapped(range), !tensor.bytes.isEmpty else { return tensor }
        let copy = try ByteBuffer(allocating: tensor.bytes.count, for: tensor.name)
        let step = TreeDigest.batch * TreeDigest.chunkBytes
        let starts = Array(stride(from: 0, to: tensor.bytes.count, by: step))
        let chunks = try Parallel.map(starts.count, threads: threads) { index in
            let range = starts[index]..<min(starts[index] + step, tensor.bytes.count)
            // Hashed while it is in the processor's cache.
            tensor.bytes[range].withBytes {
                UnsafeMutableRawBufferPointer(rebasing: copy.bytes[range]).copyMemory(from: $0)
            }
            return SHA256.digests(of: TreeDigest.chunks(of: ByteView(copy)[range]))
        }
        let digest = TreeDigest.combining(chunks.flatMap { $0 })
        let known = state.withLock { state in
            let known = state.known[range] ?? digest
            state.known[range] = known
            if known == digest { state.confirmed.insert(range) }
            return known
        }
        guard known == digest else { throw changed(tensor) }
        return StoredTensor(
            name: tensor.name, elementType: tensor.elementType, shape: tensor.shape, bytes: ByteView(copy),
            file: tensor.file)
    }

    /// Returns whether results of a tensor may be stored under its digest: it was copied, or is not in a file.
    func isConfirmed(_ tensor: StoredTensor) -> Bool {
        let range = MemoryRange(tensor.bytes)
        return !isMapped(range) || state.withLock { $0.confirmed.contains(range) }
    }

    /// Records that a result was found under a tensor's digest, so nothing was computed from its bytes.
    func noteFound(_ tensor: StoredTensor) {
        let range = MemoryRange(tensor.bytes)
        if isMapped(range) { state.withLock { _ = $0.confirmed.insert(range) } }
    }

    /// Checks that the files still have the known digests. To be called before a result of the whole model is stored.
    /// - Parameters:
    ///   - used: the names of the used tensors; those that were not used as copies are hashed again.
    ///   - isReadInPlace: all tensors were used in place, as in a run over samples.
    /// - Throws: `RequestError` if a file has changed.
    public func requireUnchanged(used: Set<String> = [], isReadInPlace: Bool = false) throws {
        try requireSameFiles()
        let (known, confirmed) = state.withLock { ($0.known, $0.confirmed) }
        let again = files.flatMap(\.tensors).filter { tensor in
            let range = MemoryRange(tensor.bytes)
            return used.contains(tensor.name) && known[range] != nil
                && (isReadInPlace || !confirmed.contains(range))
        }
        let digests = try TreeDigest.digests(of: again.map(\.bytes), threads: threads)
        for (tensor, digest) in zip(again, digests) where digest != known[MemoryRange(tensor.bytes)] {
            throw changed(tensor)
        }
    }

    /// Checks the sizes and times of the model's files, which is fast.
    /// - Throws: `RequestError` if a file has changed.
    public func requireSameFiles() throws {
        for file in files {
            guard let identity = file.identity, Files.identity(of: file.path) != identity else { continue }
            throw Self.changed(file.path)
        }
        if let late = reader.sources.first(where: { source in !files.contains { $0.name == source.name } }) {
            throw RequestError("\(late.path) was opened after the key was made", status: .internalFailure)
        }
    }

    /// Returns the error for a changed file. If its times are unchanged, it was written through a map, so its remembered
    /// digests are wrong and are removed.
    private func changed(_ tensor: StoredTensor) -> RequestError {
        if let identity = files.first(where: { $0.path == tensor.file })?.identity { cache?.forgetMemo(identity) }
        return Self.changed(tensor.file)
    }

    private static func changed(_ path: String) -> RequestError {
        RequestError("\(path) changed while it was being read; run again when it is complete", status: .corrupt)
    }
}
