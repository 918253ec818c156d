import AccelPlatform

extension Files {
    /// The method by which a copy was made.
    public enum CopyMethod: String, Sendable {
        /// The file system shares the blocks until one side is written.
        case clone
        /// A hard link: both names refer to one file.
        case link
        /// The bytes were copied.
        case copy
    }

    /// Copies the file `source` to `target`, which must not exist. The copy is not synced.
    /// - Parameters:
    ///   - mode: the permissions of the copy; a link keeps those of the source.
    ///   - mayLink: allows a hard link, for files that nobody writes to.
    @discardableResult
    public static func copy(
        _ source: String, to target: String, mode: UInt16 = 0o644, mayLink: Bool = false
    ) throws -> CopyMethod {
        let content = try MappedFile(source).bytes
        guard let start = startCopy(source, to: target, mode: mode, mayLink: mayLink) else {
            throw RequestError.unwritable(target, systemMessage())
        }
        guard start.finish(content, at: target, isSynced: false) else {
            let message = systemMessage()
            unlink(target)
            throw RequestError.unwritable(target, message)
        }
        return start.method
    }

    /// Copies the file `source` to `target`, which appears completely or not at all, and replaces a file of that name.
    /// - Parameters:
    ///   - kind: decides whether an existing entry at `target` may be replaced.
    ///   - mode: the permissions of the copy, and after a hard link those of both names.
    ///   - mayLink: allows a hard link, for files that nobody writes to.
    ///   - isSynced: the bytes and the name are on the disk when the function returns.
    /// - Throws: `RequestError` if the entry at `target` is not an earlier output of this kind, or if it cannot be
    ///   written; what `MappedFile` throws for the source.
    @discardableResult
    public static func copyAtomically(
        _ source: String, to target: String, as kind: OutputKind, mode: UInt16 = 0o644, mayLink: Bool = false,
        isSynced: Bool = true
    ) throws -> CopyMethod {
        let content = try MappedFile(source).bytes
        try kind.requireReplaceable(target, by: .file)
        if kind.isAsked { TemporaryPaths.removeAbandoned(beside: target, kind: kind) }
        let entry = try TemporaryPaths.entry(beside: target) { temporary in
            startCopy(source, to: temporary, mode: mode, mayLink: mayLink)
        } drop: {
            if $0.number >= 0 { close($0.number) }
        }
        guard let entry else {
            throw RequestError.unwritable(target, systemMessage())
        }
        let (temporary, start) = (entry.path, entry.made)
        // Open until the copy is published or removed.
        let hold = FileDescriptor(entry.hold)
        defer { withExtendedLifetime(hold) {} }
        do {
            guard start.method != .link || chmod(temporary, mode_t(mode)) == 0,
                start.finish(content, at: temporary, isSynced: isSynced)
            else { throw RequestError.unwritable(target, systemMessage()) }
            try TemporaryPaths.publish(temporary, as: target, kind: kind, form: .file)
        } catch {
            TemporaryPaths.discard(temporary)
            throw error
        }
        if isSynced { Disk.syncFolder(parentFolder(of: target) ?? "/") }
        return start.method
    }

    /// A copy that has its name. Its content is missing if it is neither a clone nor a link.
    private struct StartedCopy: Sendable {
        let method: CopyMethod
        /// The descriptor of the empty file, which `finish` closes; -1 for a clone or a link.
        let number: CInt

        /// Writes the content if it is missing, and syncs the file.
        /// - Returns: False on a system error, which is in errno.
        func finish(_ content: ByteView, at path: String, isSynced: Bool) -> Bool {
            var descriptor = FileDescriptor(number)
            if method == .copy {
                guard content.withBytes({ descriptor.writeAll($0) }) else { return false }
            } else if isSynced {
                descriptor = FileDescriptor(open(path, O_RDONLY | O_CLOEXEC))
                guard descriptor.number >= 0 else { return false }
            }
            return (!isSynced || Disk.sync(descriptor, path)) && descriptor.close()
        }
    }

    /// Gives a copy its name, in a short time whatever its size is.
    /// - Returns: nil if the system calls fail, with the reason in errno.
    private static func startCopy(_ source: String, to target: String, mode: UInt16, mayLink: Bool) -> StartedCopy? {
        if clone(source, to: target, mode: mode) { return StartedCopy(method: .clone, number: -1) }
        if mayLink, link(source, target) == 0 { return StartedCopy(method: .link, number: -1) }
        let number = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_t(mode))
        return number >= 0 ? StartedCopy(method: .copy, number: number) : nil
    }

    private static func clone(_ source: String, to target: String, mode: UInt16) -> Bool {
        #if canImport(Darwin)
            return clonefile(source, target, 0) == 0 && chmod(target, mode_t(mode)) == 0
        #else
            let from = FileDescriptor(open(source, O_RDONLY | O_CLOEXEC))
            let into = FileDescriptor(open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_t(mode)))
            guard from.number >= 0, into.number >= 0 else { return false }
            // The constant FICLONE of linux/fs.h, which Swift does not import.
            if ioctl(into.number, 0x4004_9409, from.number) == 0 { return true }
            unlink(target)
            return false
        #endif
    }

    /// Renames a file within its file system, and replaces a file that has the new name.
    public static func rename(_ path: String, to target: String) throws(RequestError) {
        #if canImport(Darwin)
            let result = Darwin.rename(path, target)
        #elseif canImport(Musl)
            let result = Musl.rename(path, target)
        #else
            let result = Glibc.rename(path, target)
        #endif
        guard result == 0 else {
            throw RequestError("cannot rename \(path) to \(target): \(systemMessage())", status: .unavailable)
        }
    }

    /// Sets a file's modification time to now. Returns false if that is not allowed.
    @discardableResult
    public static func touch(_ path: String) -> Bool { utimensat(AT_FDCWD, path, nil, 0) == 0 }

    /// An identifier of the current boot of the system; nil if the system has none.
    public static var bootIdentifier: String? {
        #if canImport(Darwin)
            var size = 0
            guard sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0) == 0, size > 1 else { return nil }
            var name = [CChar](repeating: 0, count: size)
            guard sysctlbyname("kern.bootsessionuuid", &name, &size, nil, 0) == 0 else { return nil }
            return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        #else
            let descriptor = FileDescriptor(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC))
            guard descriptor.number >= 0 else { return nil }
            var buffer = [UInt8](repeating: 0, count: 36)
            let count = read(descriptor.number, &buffer, buffer.count)
            return count == buffer.count ? String(decoding: buffer, as: UTF8.self) : nil
        #endif
    }
}

extension Files {
    /// Returns the free bytes of the file system of an existing path; nil if they are unknown.
    public static func freeBytes(at path: String) -> Int? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return overflow ? Int.max : Int(clamping: bytes)
    }

    /// Writes a file's data to the disk; with `throughDriveCache` also through the drive's own cache, on systems that
    /// distinguish the two.
    /// - Returns: False on failure, with the reason in errno.
    @discardableResult
    public static func sync(_ path: String, throughDriveCache: Bool = false) -> Bool {
        let descriptor = FileDescriptor(open(path, O_RDONLY | O_CLOEXEC))
        guard descriptor.number >= 0 else { return false }
        #if canImport(Darwin)
            if throughDriveCache { return fcntl(descriptor.number, F_FULLFSYNC) == 0 }
        #endif
        return fsync(descriptor.number) == 0
    }
}
