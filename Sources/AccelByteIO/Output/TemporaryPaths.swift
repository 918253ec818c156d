import AccelPlatform

/// The temporary files and folders that exist, so that an interrupted tool leaves nothing incomplete.
public enum TemporaryPaths {
    static let paths = Locked<Set<String>>([])

    /// Removes all temporary paths, and creates none while `body` runs; an interrupted tool ends itself in `body`.
    public static func removeAll<Result>(_ body: () -> Result = {}) -> Result {
        paths.withLock { paths in
            for path in paths {
                // Repeated, because other threads may still create files in a folder that is being removed.
                for _ in 0..<100 where Files.kindWithoutFollowing(path) != nil { try? Files.removeTree(path) }
            }
            return body()
        }
    }

    /// Runs `make`, which creates a path, and records the path if the result is not nil; an interruption sees both or
    /// neither. `make` must be short: an interruption waits for it.
    static func making<Made: Sendable>(_ path: String, _ make: () throws -> Made?) rethrows -> Made? {
        try paths.withLock { paths in
            guard let made = try make() else { return nil }
            paths.insert(path)
            return made
        }
    }

    /// A new entry with a temporary name.
    struct Entry<Made: Sendable>: Sendable {
        let path: String
        let made: Made
        /// The descriptor that holds the entry (`EntryHold`), for the caller to close; -1 without locks.
        let hold: CInt
    }

    /// Creates an entry with an unused name beside `path`, which this process holds (`EntryHold`).
    /// - Parameters:
    ///   - make: creates the entry at a path, in a short time; nil if the system call fails, with the reason in `errno`.
    ///   - drop: closes what `make` returned, after another process took the entry for an abandoned one.
    /// - Returns: nil if `make` returned nil.
    static func entry<Made: Sendable>(
        beside path: String, _ make: (String) -> Made?, drop: (Made) -> Void = { _ in }
    ) throws(RequestError) -> Entry<Made>? {
        for _ in 0..<100 {
            let temporary = try sibling(of: path)
            let entry = making(temporary) { () -> Entry<Made>? in
                guard let made = make(temporary) else { return nil }
                if let hold = EntryHold.descriptor(temporary) {
                    return Entry(path: temporary, made: made, hold: hold)
                }
                let number = errno
                drop(made)
                // Another process removes it, unless it is a link to a file that is being looked at by another name.
                if unlink(temporary) != 0 { rmdir(temporary) }
                errno = number
                return nil
            }
            if let entry { return entry }
            guard errno == EAGAIN else { return nil }
        }
        return nil
    }

    /// Returns why no entry could be created beside `path`: the system's message, a missing folder, or an entry that is no folder.
    static func failure(_ number: Int32 = errno, beside path: String) -> String {
        var parent = Files.parentFolder(of: path)
        switch number {
        case ENOENT:
            if let parent, Files.kind(of: parent) == nil { return "there is no folder \(parent)" }
        case ENOTDIR:
            while let folder = parent, folder != ".", Files.kind(of: folder) == nil {
                parent = Files.parentFolder(of: folder)
            }
            if let parent, Files.kind(of: parent) != .folder { return "\(parent) is no folder" }
        case EACCES, EROFS:
            if let parent, Files.kind(of: parent) == .folder {
                return
                    "\(systemMessage(number)): the folder \(Files.absolutePath(of: parent)) may not be written to; choose another place"
            }
        default: break
        }
        return systemMessage(number)
    }

    static func remove(_ path: String) { _ = paths.withLock { $0.remove(path) } }

    /// Removes a temporary path, if it is still recorded as one.
    static func discard(_ path: String) {
        guard paths.withLock({ $0.contains(path) }) else { return }
        // A failure leaves a file on the disk and harms nothing else.
        try? Files.removeTree(path)
        remove(path)
    }

    /// Returns an unused hidden name beside `path`, in the same folder, so that a rename can publish it.
    /// - Throws: `RequestError` if `path` has no name of its own (`/`, `.`, `..`, or nothing).
    static func sibling(of path: String, _ role: TemporaryName.Role = .draft) throws(RequestError) -> String {
        let name = Files.name(of: path)
        guard let folder = Files.parentFolder(of: path), !["", ".", ".."].contains(name) else {
            throw RequestError("\"\(path)\" does not name a file or folder to write; give it a name of its own")
        }
        // Shortened, so that the file system's limit for names is kept.
        return (folder == "/" ? "/" : folder + "/") + TemporaryName.make(name.prefix(TemporaryName.startLength), role)
    }

    /// Returns the path of a temporary path's entry in another role.
    static func path(_ temporary: String, _ role: TemporaryName.Role) -> String {
        guard let parts = TemporaryName.Parts(Files.name(of: temporary)), let folder = Files.parentFolder(of: temporary)
        else { return temporary }
        return (folder == "/" ? "/" : folder + "/") + parts.name(role)
    }

    /// Returns the first 40 characters of the name beside which `sibling` made a name; nil if it did not make `name`.
    public static func start(ofSibling name: String) -> Substring? { TemporaryName.Parts(name)?.start }

    /// Returns a path for a message: temporary names in it are those of the outputs that they become.
    static func shown(_ path: String) -> String {
        let names = path.split(separator: "/", omittingEmptySubsequences: false)
        let shown = names.map { start(ofSibling: String($0)) ?? $0 }.joined(separator: "/")
        return shown.hasPrefix("./") ? String(shown.dropFirst(2)) : shown
    }

    /// Returns whether `name` is a temporary name that `sibling` made beside `final`.
    public static func isSibling(_ name: String, of final: String) -> Bool {
        start(ofSibling: name) == final.prefix(TemporaryName.startLength)
    }
}

extension RequestError {
    /// The error for a file that cannot be written.
    /// - Parameter path: may be within a temporary folder.
    static func unwritable(_ path: String, _ reason: String) -> RequestError {
        RequestError("cannot write \(TemporaryPaths.shown(path)): \(reason)", status: .unavailable)
    }
}
