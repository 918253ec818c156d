import AccelByteIO
import AccelTensors
public import AccelWeightCompression

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

    /// The same tensors in files, or in memory still where no file can be written.
    /// - Throws: `RequestError` when the draft cannot be written.
    public func keep(_ tensors: [CompressedTensor]) throws -> [CompressedTensor] {
        try draft?.keep(tensors, spill: spill) ?? tensors.map(spill)
    }

    private func spill(_ tensor: CompressedTensor) -> CompressedTensor {
        guard tensor.byteCount >= Self.minimumBytes else { return tensor }
        return (try? spilled(tensor)) ?? tensor
    }

    private func spilled(_ tensor: CompressedTensor) throws -> CompressedTensor {
        let name = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 16) }.joined()
        let path = "\(folder)/.accelc-\(name).tensor"
        var file = try AtomicFile(replacing: path, as: .internal, mode: 0o600, isSynced: false)
        for part in tensor.joinedParts { try file.write(part) }
        // Not committed: the file is gone at once, its map stays.
        return try tensor.replacingSections(by: try file.mapped())
    }
}
