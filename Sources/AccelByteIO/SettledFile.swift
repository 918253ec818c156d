import AccelPlatform

/// A file whose times tell of each write from now on, also of those through a shared map that was there before.
///
/// The system sets a file's times at the first write to each page after the page was brought to the disk, and leaves them alone at the
/// next ones. So a file is synced before its bytes are read for something that is remembered of it. Some systems promise less
/// than that (network file systems, other machines that write): what is remembered counts for a day.
public struct SettledFile: Sendable {
    public let identity: FileIdentity
    private let path: String

    /// nil where its times tell nothing: it cannot be synced, is written just now, or lies in memory only (tmpfs).
    public init?(_ path: String) {
        guard cp_notices_maps(path) != 0, let before = Files.identity(of: path), Files.sync(path),
            Files.identity(of: path) == before
        else { return nil }
        (self.path, identity) = (path, before)
    }

    /// Whether nobody has written to it since. Ask after its bytes were read.
    public var isUnchanged: Bool { Files.identity(of: path) == identity }

    /// Whether what was read of a file counts still, while its times are the same.
    /// - Parameter read: when that was, in nanoseconds since 1970.
    public static func counts(_ read: Int64, now: Int64) -> Bool { read <= now && now - read < dayNanoseconds }

    private static let dayNanoseconds: Int64 = 86_400_000_000_000
}
