import AccelPlatform

/// A file whose times show every later write, including writes through existing shared maps.
///
/// The system sets a file's times at the first write to a page after that page was synced, and not at further writes.
/// So a file is synced before its bytes are read for a remembered result. Some systems promise less (network file
/// systems, other machines that write), so remembered results expire after a day.
public struct SyncedFile: Sendable {
    /// The identity of the synced file.
    public let identity: FileIdentity
    private let path: String

    /// Returns nil if the file's times are not reliable: it cannot be synced, is being written, or is in memory only
    /// (tmpfs).
    public init?(_ path: String) {
        guard cp_notices_maps(path) != 0, let before = Files.identity(of: path), Files.sync(path),
            Files.identity(of: path) == before
        else { return nil }
        (self.path, identity) = (path, before)
    }

    /// The file was not written since. To be asked after its bytes were read.
    public var isUnchanged: Bool { Files.identity(of: path) == identity }

    /// Returns whether a remembered result is still valid, given that the file's times are the same.
    /// - Parameter read: the time of reading, in nanoseconds since 1970.
    public static func counts(_ read: Int64, now: Int64) -> Bool { read <= now && now - read < dayNanoseconds }

    private static let dayNanoseconds: Int64 = 86_400_000_000_000
}
