public import AccelByteIO
import AccelPrograms
public import AccelWeightCompression

/// A package that is being made: its weights can be put in as they are compressed, so that they are written once and take
/// no memory. It appears under its name whole or not at all; without `commit` nothing is left of it when the draft is let go.
public final class PackageDraft: Sendable {
    /// The folder in which the package is made.
    public let folder: String
    private let state: Locked<State>

    private struct State: ~Copyable {
        var target: Target?
        var blobs: BlobWriter
        /// Weights in the order in which their sections are written.
        var names: ArraySlice<String>
        /// Weights that came before their turn.
        var waiting: [String: CompressedTensor] = [:]
    }
    private enum Target: ~Copyable {
        case named(AtomicFolder)
        case temporary(TemporaryFolder)
    }

    /// - Parameters:
    ///   - path: what the package is to be called; a package of that name is replaced, and nothing else.
    ///   - names: the weights that will be put in, in the order of the package's coverage table. One that never comes makes
    ///     the later ones wait for `write`.
    public init(replacing path: String, weights names: [String] = []) throws {
        let target = try AtomicFolder(replacing: path, as: .package)
        let folder = target.path
        self.folder = folder
        state = Locked(State(target: .named(target), blobs: BlobWriter(folder: folder), names: names[...]))
    }

    /// A draft that is never a package of its own name: an archive is made of it, or a cache's entry.
    /// - Parameters:
    ///   - path: beside which it is made.
    ///   - names: as above.
    public init(beside path: String, weights names: [String] = []) throws {
        let target = try TemporaryFolder(beside: path)
        let folder = target.path
        self.folder = folder
        state = Locked(State(target: .temporary(target), blobs: BlobWriter(folder: folder), names: names[...]))
    }

    /// Puts weights in, and those that waited for them.
    /// - Parameter spill: keeps a weight whose turn has not come.
    /// - Returns: each weight as it lies in the package, or as `spill` returned it.
    /// - Throws: `RequestError` when the package cannot be written.
    public func keep(
        _ tensors: [CompressedTensor], spill: (CompressedTensor) -> CompressedTensor
    ) throws -> [CompressedTensor] {
        try state.withLock { state in
            var results: [CompressedTensor] = []
            var inTurn: [CompressedTensor] = []
            for tensor in tensors {
                guard state.names.first == tensor.name else {
                    let spilled = spill(tensor)
                    state.waiting[tensor.name] = spilled
                    results.append(spilled)
                    continue
                }
                state.names = state.names.dropFirst()
                inTurn.append(tensor)
                results.append(tensor)
                while let next = state.names.first, let tensor = state.waiting.removeValue(forKey: next) {
                    state.names = state.names.dropFirst()
                    inTurn.append(tensor)
                }
            }
            let kept = Dictionary(
                try state.blobs.keep(inTurn).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
            return results.map { kept[$0.name] ?? $0 }
        }
    }

    /// Writes all that is not there yet.
    /// - Returns: the package digest.
    /// - Throws: `RequestError` for contents that do not make a package, or a place that cannot be written.
    public func write(_ contents: PackageContents) throws -> Digest {
        try state.withLock { state in
            var blobs = BlobWriter(folder: folder)
            swap(&blobs, &state.blobs)
            return try PackageWriter.write(contents, into: folder, blobs: blobs)
        }
    }

    /// Gives the package its name; one that has none is let go.
    public func commit() throws {
        try state.withLock { state in
            guard let target = state.target.take() else { return }
            switch consume target {
            case .named(let folder): try folder.commit()
            case .temporary: break
            }
        }
    }
}
