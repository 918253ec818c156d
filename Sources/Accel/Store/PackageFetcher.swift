import AccelByteIO

/// Brings a package to a store: over the network, from an app's bundle, or from anywhere else. The library itself has no network.
///
/// A fetcher over `URLSession` downloads to a file in the folder, and returns its path. A signature goes beside the package, under
/// the package's name with `.sig` appended.
public protocol PackageFetcher: Sendable {
    /// Fetches a package.
    /// - Parameters:
    ///   - folder: an empty folder of the store; its files may be moved into the store, and it is removed after the update. The
    ///     package may also lie elsewhere: then it is copied, and left as it is.
    ///   - progress: receives the bytes that have arrived, and their number if it is known. Once a package is too large for the
    ///     store's profile, the task that fetches it is cancelled.
    /// - Returns: the path of the package, a folder or an archive.
    /// - Throws: any error; then nothing is updated.
    func fetch(
        into folder: String, progress: @escaping @Sendable (_ done: Int, _ total: Int?) -> Void
    ) async throws -> String
}

/// A package on this device: a folder or an archive.
public struct LocalPackage: PackageFetcher {
    private let path: String

    /// A package at a path. It is copied, and left as it is.
    public init(_ path: String) { self.path = path }

    public func fetch(
        into folder: String, progress: @escaping @Sendable (_ done: Int, _ total: Int?) -> Void
    ) async throws -> String { path }
}

/// An archive whose bytes arrive piece by piece, e.g. from a server. The pieces are written as they come: memory does not grow with
/// the package.
public struct StreamedPackage<Pieces: AsyncSequence & Sendable>: PackageFetcher where Pieces.Element == [UInt8] {
    private let pieces: Pieces
    private let byteCount: Int?

    /// An archive of these bytes.
    /// - Parameter byteCount: the number of bytes, if it is known: fewer or more are an error.
    public init(_ pieces: Pieces, byteCount: Int? = nil) { (self.pieces, self.byteCount) = (pieces, byteCount) }

    public func fetch(
        into folder: String, progress: @escaping @Sendable (_ done: Int, _ total: Int?) -> Void
    ) async throws -> String {
        let path = "\(folder)/model.accelpkg"
        var file = try AtomicFile(replacing: path, as: .internal, mode: 0o600, isSynced: false)
        for try await piece in pieces {
            try Task.checkCancellation()
            try piece.withUnsafeBytes { try file.write($0) }
            progress(file.count, byteCount)
        }
        try Task.checkCancellation()
        guard byteCount ?? file.count == file.count else {
            throw AccelError(
                .corrupt, expected: "\(byteCount ?? 0) bytes", found: "\(file.count)", at: "the fetched package")
        }
        try file.commit()
        return path
    }
}
