import AccelPlatform

/// The sole right to a name among all processes, for as long as the value lives; a process that is killed gives it up. It
/// stands for nothing on file systems where locks have no effect (`areEffective(in:)`): nobody may need it to be correct.
public final class FileLock: Sendable {
    public enum Attempt: Sendable {
        case locked(FileLock)
        /// Another holder has it.
        case busy
        /// The file cannot be made, or the file system has no locks.
        case unsupported
    }

    public let path: String
    private let descriptor: Int32

    private init(_ path: String, _ descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
        TemporaryPaths.insert(path)
    }

    /// The file goes while it is still locked: whoever waits for it sees that the name stands for another file now.
    deinit {
        unlink(path)
        TemporaryPaths.remove(path)
        close(descriptor)
    }

    /// Makes the file at `path`, whose folder must exist, and locks it. Never waits.
    public static func attempt(_ path: String) -> Attempt {
        for _ in 0..<100 {
            let descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o644)
            guard descriptor >= 0 else { return .unsupported }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let isBusy = errno == EWOULDBLOCK
                close(descriptor)
                return isBusy ? .busy : .unsupported
            }
            if identity(descriptor) == Files.identity(of: path)?.inode { return .locked(FileLock(path, descriptor)) }
            // The one before has just given it up, and its file is gone.
            close(descriptor)
        }
        return .busy
    }

    /// Runs `body` while nobody runs another one under the same path, but for those who are not exclusive either. After some
    /// seconds of waiting, or where there are no locks, it runs all the same.
    public static func guarding<Result>(
        _ path: String, exclusively: Bool, patience: Duration = .seconds(5), _ body: () throws -> Result
    ) rethrows -> Result {
        let descriptor = FileDescriptor(open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o644))
        let start = ContinuousClock.now
        while descriptor.number >= 0, flock(descriptor.number, (exclusively ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR, start.duration(to: .now) < patience else { break }
            usleep(1000)
        }
        return try withExtendedLifetime(descriptor) { try body() }
    }

    /// Whether somebody has locked an existing file, or may have: it belongs to somebody else.
    public static func isHeld(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return errno != ENOENT }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) != 0
    }

    /// Whether a second lock of one file is refused in a folder, as it should be: some network file systems grant all.
    public static func areEffective(in folder: String) -> Bool {
        let name = String(UInt64.random(in: .min ... .max), radix: 16)
        guard case .locked(let lock) = attempt("\(folder)/.\(name).lock") else { return false }
        return withExtendedLifetime(lock) { isHeld(lock.path) }
    }

    /// Adds text to the file, in one piece.
    /// - Returns: false when it cannot be written.
    @discardableResult
    public func append(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { write(descriptor, $0.baseAddress, $0.count) == $0.count }
    }

    /// Tells those who wait that the holder is at work.
    public func touch() { futimens(descriptor, nil) }

    private static func identity(_ descriptor: Int32) -> UInt64? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? FileIdentity(status).inode : nil
    }
}
