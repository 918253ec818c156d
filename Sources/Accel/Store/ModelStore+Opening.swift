import AccelByteIO
import AccelPackages

extension ModelStore {
    private struct Opening {
        let version: Digest
        let lease: CacheLease
        let isTentative: Bool
        let lock: StoreLock?
    }

    /// Opens the current version of a model. A tentative version whose last trial came to no end, or that cannot be opened, is left
    /// for the version before.
    /// - Parameter load: opens the package at a path.
    nonisolated func opening<Opened>(
        _ name: String, _ load: (_ path: String) async throws(AccelError) -> Opened
    ) async throws(AccelError) -> (opened: Opened, use: StoreUse) {
        // Each round but the last one drops a version.
        while true {
            let opening = try begin(name)
            let use = use(
                of: opening.version, name, opening.lease, isTentative: opening.isTentative, lock: opening.lock)
            do throws(AccelError) {
                let opened = try await load(folder.packagePath(of: opening.version, name))
                use.opened()
                return (opened, use)
            } catch {
                guard opening.lock != nil, error.isOfVersion || error.code == .notFound else {
                    use.opened()
                    throw error
                }
                guard try goBack(name, from: opening.version) else { throw error }
            }
        }
    }

    private nonisolated func begin(_ name: String) throws(AccelError) -> Opening {
        try storing { () throws in
            try folder.guarding(name) {
                var record = try record(of: name)
                var lock: StoreLock?
                if record.standing != .proven {
                    lock = folder.beginTrial(of: record.current, name)
                    if lock != nil {
                        if record.standing == .trying, !record.earlier.isEmpty {
                            record.goBack()
                            lock = folder.beginTrial(of: record.current, name)
                        }
                        record.standing = .trying
                        try folder.write(record)
                    }
                }
                return Opening(
                    version: record.current, lease: try folder.lease(record.current),
                    isTentative: record.standing != .proven, lock: lock)
            }
        }
    }

    /// - Returns: false if there is no version before.
    private nonisolated func goBack(_ name: String, from version: Digest) throws(AccelError) -> Bool {
        try storing { () throws in
            try folder.guarding(name) {
                guard var record = try folder.record(of: name) else { return false }
                // Another process may have gone back, or updated the model.
                guard record.current == version else { return true }
                guard !record.earlier.isEmpty else { return false }
                record.goBack()
                try folder.write(record)
                return true
            }
        }
    }
}
