import AccelByteIO
import AccelTensors
public import AccelWeightCompression

/// Moves finished tensors to unnamed files, so that memory does not grow with the model. The files vanish with their
/// last reader, however the process ends. Without a draft of a package, the first tensors stay in memory.
public final class TensorSpill: Sendable {
    /// The size below which tensors stay in memory.
    private static let minimumBytes = 1 << 16
    private let folder: String
    private let draft: PackageDraft?
    /// The bytes that may still stay in memory.
    private let room: Locked<Int>

    /// Creates a spill; no file is created yet.
    /// - Parameters:
    ///   - output: the path of the final output; the files are created beside it, where space is needed anyway.
    ///   - draft: a package draft, which takes tensors when their turn comes.
    ///   - room: the bytes of tensors that stay in memory; by default an eighth of the available memory, and none with a draft.
    public init(beside output: String, draft: PackageDraft? = nil, room: Int? = nil) {
        folder = Files.parentFolder(of: output) ?? "."
        self.draft = draft
        self.room = Locked(room ?? (draft == nil ? MachineMemory.available / 8 : 0))
    }

    /// Returns the same tensors in files, or in memory if no file can be written.
    /// - Throws: `RequestError` if the draft cannot be written.
    public func keep(_ tensors: [CompressedTensor]) throws -> [CompressedTensor] {
        try draft?.keep(tensors, spill: spill) ?? tensors.map(spill)
    }

    private func spill(_ tensor: CompressedTensor) -> CompressedTensor {
        let stays = room.withLock { room in
            guard tensor.byteCount <= room else { return false }
            room -= tensor.byteCount
            return true
        }
        guard !stays, tensor.byteCount >= Self.minimumBytes else { return tensor }
        return (try? spilled(tensor)) ?? tensor
    }

    private func spilled(_ tensor: CompressedTensor) throws -> CompressedTensor {
        try tensor.replacingSections(by: try AtomicFile.unnamed(tensor.joinedParts, in: folder))
    }
}
