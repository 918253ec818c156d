public import AccelByteIO
import AccelPrograms
public import AccelWeightCompression

/// A package under construction. Weights can be added as they are compressed, so that they are written once and take no
/// memory. The package appears completely or not at all; without `commit` everything is removed with the draft.
public final class PackageDraft: Sendable {
    /// The folder in which the package is made.
    public let folder: String
    private let state: Locked<State>

    private struct State: ~Copyable {
        var target: Target?
        var blobs: BlobWriter
        /// The weights that are expected, in the order in which their sections are written.
        var names: ArraySlice<String>
        /// Weights that were added before their turn.
        var waiting: [String: CompressedTensor] = [:]
    }
    private enum Target: ~Copyable {
        case named(AtomicFolder)
        case temporary(TemporaryFolder)
    }

    /// Starts a package.
    /// - Parameters:
    ///   - path: the final path; only an earlier package there may be replaced.
    ///   - names: the weights that will be added, in the order of the coverage table. If one is never added, the later
    ///     ones wait for `write`.
    public init(replacing path: String, weights names: [String] = []) throws {
        let target = try AtomicFolder(replacing: path, as: .package)
        let folder = target.path
        self.folder = folder
        state = Locked(State(target: .named(target), blobs: BlobWriter(folder: folder), names: names[...]))
    }

    /// Starts a draft that does not become a package folder: an archive or a cache entry is made from it.
    /// - Parameters:
    ///   - path: the draft is created beside it.
    ///   - names: the weights that will be added, in the order of the coverage table.
    public init(beside path: String, weights names: [String] = []) throws {
        let target = try TemporaryFolder(beside: path)
        let folder = target.path
        self.folder = folder
        state = Locked(State(target: .temporary(target), blobs: BlobWriter(folder: folder), names: names[...]))
    }

    /// Adds weights, and earlier ones that waited for them.
    /// - Parameter spill: stores a weight whose turn has not come.
    /// - Returns: Each weight as a view of the package, or the result of `spill`.
    /// - Throws: `RequestError` if the package cannot be written.
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

    /// Writes the rest of the package.
    /// - Returns: The package digest.
    /// - Throws: `RequestError` for contents that are not a valid package, or a folder that cannot be written.
    public func write(_ contents: PackageContents) throws -> Digest {
        try state.withLock { state in
            var blobs = BlobWriter(folder: folder)
            swap(&blobs, &state.blobs)
            return try PackageWriter.write(contents, into: folder, blobs: blobs)
        }
    }

    /// Publishes the package under its path; a draft without one is removed.
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
