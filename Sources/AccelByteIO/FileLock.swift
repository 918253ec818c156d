import AccelPlatform

/// An advisory lock among all processes, held while the value lives; it ends when its process ends. Some file systems
/// do not support locks (`areEffective(in:)`), so nothing may depend on them for correctness.
public final class FileLock: Sendable {
    /// The result of an attempt to lock.
    public enum Attempt: Sendable {
        /// This process holds the lock while the value lives.
        case locked(FileLock)
        /// Another process holds the lock.
        case busy
        /// The file cannot be created, or the file system has no locks.
        case unsupported
    }

    /// The path of the lock file.
    public let path: String
    private let descriptor: Int32

    private init(_ path: String, _ descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    /// The file is removed while it is still locked, so that those who wait see that the name belongs to another file
    /// now.
    deinit {
        unlink(path)
        TemporaryPaths.remove(path)
        close(descriptor)
    }

    /// Creates the file at `path`, whose folder must exist, and locks it. Does not wait.
    public static func attempt(_ path: String) -> Attempt {
        for _ in 0..<100 {
            var failure: Attempt?
            if let descriptor = TemporaryPaths.making(path, { lock(path, &failure) }) {
                return .locked(FileLock(path, descriptor))
            }
            if let failure { return failure }
        }
        return .busy
    }

    /// Creates and locks the file, without waiting.
    /// - Returns: Its descriptor; nil with a failure, or without one if the attempt is to be repeated.
    private static func lock(_ path: String, _ failure: inout Attempt?) -> CInt? {
        let descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard descriptor >= 0 else {
            failure = .unsupported
            return nil
        }
        if flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            failure = errno == EWOULDBLOCK ? .busy : .unsupported
        } else if identity(descriptor) == Files.identity(of: path)?.inode {
            return descriptor
        }
        // Without a failure, the previous holder has just unlocked the file and removed it.
        close(descriptor)
        return nil
    }

    /// Runs `body` under a lock on `path`: exclusive holders exclude all others, shared holders only exclusive ones.
    /// After some seconds of waiting, or without support for locks, `body` runs nevertheless.
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

    /// Returns whether another process has locked an existing file, or may have.
    public static func isHeld(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return errno != ENOENT }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) != 0
    }

    /// Returns whether a second lock of a file is rejected in a folder, as it should be; some network file systems grant
    /// all locks.
    public static func areEffective(in folder: String) -> Bool {
        let name = String(UInt64.random(in: .min ... .max), radix: 16)
        guard case .locked(let lock) = attempt("\(folder)/.\(name).lock") else { return false }
        return withExtendedLifetime(lock) { isHeld(lock.path) }
    }

    /// Appends text to the file in one write.
    /// - Returns: False if it cannot be written.
    @discardableResult
    public func append(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { write(descriptor, $0.baseAddress, $0.count) == $0.count }
    }

    /// Updates the file's time, so that waiting processes see that the holder is at work.
    public func touch() { futimens(descriptor, nil) }

    private static func identity(_ descriptor: Int32) -> UInt64? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? FileIdentity(status).inode : nil
    }
}
