/// The temporary files and folders that exist now, so that an interrupted tool leaves nothing half-written.
public enum TemporaryPaths {
    static let paths = Locked<Set<String>>([])

    /// Removes all of them, and makes no others while `body` runs: a tool that was interrupted ends itself there.
    public static func removeAll<Result>(_ body: () -> Result = {}) -> Result {
        paths.withLock { paths in
            for path in paths {
                // Work on other threads goes on, and may make a file in a folder that is just being removed: hence again.
                for _ in 0..<100 where Files.kindWithoutFollowing(path) != nil { try? Files.removeTree(path) }
            }
            return body()
        }
    }

    /// Notes a path that `make` makes; there is no moment at which the one has happened without the other.
    static func making(_ path: String, _ make: () -> Bool) -> Bool {
        paths.withLock { paths in
            guard make() else { return false }
            paths.insert(path)
            return true
        }
    }

    static func insert(_ path: String) { _ = paths.withLock { $0.insert(path) } }
    static func remove(_ path: String) { _ = paths.withLock { $0.remove(path) } }

    /// Removes one of them, and only what is still one: something else may have come to that place.
    static func discard(_ path: String) {
        guard paths.withLock({ $0.contains(path) }) else { return }
        // Where it cannot be removed, that is nobody's concern but the disk's.
        try? Files.removeTree(path)
        remove(path)
    }

    /// A hidden name beside `path` that nothing else uses: in the same folder, so that a rename can publish it.
    /// - Throws: `RequestError` when `path` has no name of its own (`/`, `.`, `..`, or nothing).
    static func sibling(of path: String) throws(RequestError) -> String {
        let name = Files.name(of: path)
        guard let folder = Files.parentFolder(of: path), !["", ".", ".."].contains(name) else {
            throw RequestError("\"\(path)\" does not name a file or folder to write; give it a name of its own")
        }
        let random = String(UInt64.random(in: .min ... .max), radix: 16)
        // A long name must not make the temporary one too long for the file system.
        return (folder == "/" ? "/" : folder + "/") + ".\(name.prefix(40)).\(random).partial"
    }
}
