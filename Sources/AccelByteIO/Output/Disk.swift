import AccelPlatform

/// The system calls that sync and rename files, in one place so that tests can observe their order.
enum Disk {
    enum Event: Sendable {
        /// Bytes of a file were written.
        case written(String)
        /// The bytes of a file, or the names in a folder, are on the disk.
        case synced(String)
        /// The decision whether `path` may be replaced is about to be made.
        case deciding(path: String)
        /// The decision is positive; the rename is next.
        case publishing(temporary: String, path: String)
        case published(path: String)

        /// The path of the file or folder; of a rename, the new one.
        var path: String {
            switch self {
            case .written(let path), .synced(let path), .deciding(let path), .publishing(_, let path),
                .published(let path):
                path
            }
        }
    }

    /// The observers by the folder whose events they receive; empty outside of tests.
    private static let observers = Locked<[String: @Sendable (Event) -> Void]>([:])

    /// Calls `observer` with every event in a folder, from any thread, while `body` runs.
    static func observing<Result>(
        _ folder: String, _ observer: @escaping @Sendable (Event) -> Void, during body: () throws -> Result
    ) rethrows -> Result {
        observers.withLock { $0[folder] = observer }
        defer { observers.withLock { $0[folder] = nil } }
        return try body()
    }

    static func note(_ event: @autoclosure () -> Event) {
        let event = event()
        // Not called under the lock, because an observer may cause further events.
        let found = observers.withLock { observers in
            observers.filter { event.path == $0.key || event.path.hasPrefix("\($0.key)/") }.map(\.value)
        }
        for observer in found { observer(event) }
    }

    /// Writes a file or folder to the disk.
    /// - Returns: False on a system error, which is in `errno`.
    static func sync(_ descriptor: borrowing FileDescriptor, _ path: String) -> Bool {
        guard fsync(descriptor.number) == 0 else { return false }
        note(.synced(path))
        return true
    }

    /// Makes the renames in a folder durable. Some file systems cannot sync folders; that is not an error.
    static func syncFolder(_ path: String) {
        let descriptor = FileDescriptor(open(path, O_RDONLY | O_CLOEXEC))
        if descriptor.number >= 0 { _ = sync(descriptor, path) }
    }

    /// Writes a folder and its content to the disk. Symbolic links are skipped.
    ///
    /// A sync waits until the disk has emptied its cache, however small the file is. Syncs at the same time share that
    /// wait, so the content is synced on several threads.
    /// - Returns: False if a file cannot be written, with the reason in errno.
    static func syncTree(_ path: String) -> Bool {
        let members = members(of: path)
        let threads = min(members.count, 4)
        let failures = WorkQueue<Int32?>()
        for first in (0..<threads).reversed() {
            let share = stride(from: first, to: members.count, by: threads).map { members[$0] }
            let work: @Sendable () -> Void = { failures.add(systemError(ofSyncing: share)) }
            if first == 0 || !DetachedThread.start(work) { work() }
        }
        let failure = (0..<threads).compactMap { _ in failures.next() ?? nil }.first
        if let failure { errno = failure }
        return failure == nil
    }

    private struct Member: Sendable {
        let path: String
        let isFolder: Bool
    }

    /// A folder, and all files and folders in it.
    private static func members(of folder: String) -> [Member] {
        var found: [Member] = []
        for name in (try? Files.list(folder)) ?? [] {
            let path = "\(folder)/\(name)"
            switch Files.kindWithoutFollowing(path) {
            case .folder: found += members(of: path)
            case .file: found.append(Member(path: path, isFolder: false))
            default: break
            }
        }
        return found + [Member(path: folder, isFolder: true)]
    }

    /// Syncs files and folders one after the other.
    /// - Returns: the system's error number for the first file that cannot be written.
    private static func systemError(ofSyncing members: [Member]) -> Int32? {
        for member in members {
            if member.isFolder {
                syncFolder(member.path)
                continue
            }
            let descriptor = FileDescriptor(open(member.path, O_RDONLY | O_CLOEXEC))
            if descriptor.number < 0 || !sync(descriptor, member.path) { return errno }
        }
        return nil
    }

    /// Renames `temporary` to `path`, which must not exist.
    /// - Returns: False on failure, with the reason in errno; EEXIST if `path` exists.
    static func renameExclusively(_ temporary: String, _ path: String) -> Bool {
        if cp_rename_exclusively(temporary, path) == 0 { return true }
        guard errno != EEXIST else { return false }
        // Not every file system supports this; then there is a moment between this check and the rename.
        guard Files.kindWithoutFollowing(path) == nil else {
            errno = EEXIST
            return false
        }
        return rename(temporary, path) == 0
    }
}
