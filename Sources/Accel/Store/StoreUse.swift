import AccelByteIO
import AccelPackages

/// The use of a stored version by an open model: while it lives, the version stays on disk, and its first run decides whether the
/// store keeps it.
final class StoreUse: Sendable {
    let version: Digest
    private let name: String
    private let folder: StoreFolder
    private let lease: CacheLease
    private let failed: @Sendable (AccelError) -> Void
    private struct Trial {
        /// nil if somebody else tries the version: then a success counts, and a failure is theirs to judge.
        var lock: StoreLock?
        /// The runs under way.
        var runs = 0
    }
    /// nil once the version is proven or has failed.
    private let trial: Locked<Trial?>

    /// - Parameters:
    ///   - lock: keeps others from trying a version that is not proven.
    ///   - failed: is called once if the first run fails.
    init(
        of version: Digest, _ name: String, in folder: StoreFolder, lease: CacheLease, isTentative: Bool,
        lock: StoreLock?,
        failed: @escaping @Sendable (AccelError) -> Void
    ) {
        (self.version, self.name, self.folder, self.lease, self.failed) = (version, name, folder, lease, failed)
        trial = Locked(isTentative ? Trial(lock: lock) : nil)
    }

    /// Runs a function of the model. The first run that succeeds makes the version a proven one.
    func run<Result>(_ body: () throws(AccelError) -> Result) throws(AccelError) -> Result {
        guard begin() else { return try body() }
        do throws(AccelError) {
            let result = try body()
            prove()
            return result
        } catch {
            end(error)
            throw error
        }
    }

    /// - Returns: whether the version is being tried.
    private func begin() -> Bool {
        trial.withLock { trial in
            guard trial != nil else { return false }
            trial?.runs += 1
            // On disk before the run: it may take the process with it.
            if trial?.runs == 1, trial?.lock != nil { mark(.trying) }
            return true
        }
    }

    private func prove() {
        trial.withLock { trial in
            guard trial != nil else { return }
            mark(.proven)
            trial = nil
        }
    }

    private func end(_ error: AccelError) {
        let hasFailed = trial.withLock { found in
            guard let lock = found?.lock else { return false }
            guard !error.isOfVersion else {
                // The record says "trying" still, and nobody does: the next opening goes back.
                found = nil
                return true
            }
            found?.runs -= 1
            if found?.runs == 0 { mark(.untried) }
            return withExtendedLifetime(lock) { false }
        }
        if hasFailed { failed(error) }
    }

    /// Records that opening the version did it no harm.
    func opened() {
        trial.withLock { trial in
            if trial?.lock != nil { mark(.untried) }
        }
    }

    /// Writes the standing of the version while it is the current one. Without it, the version is tried again.
    private func mark(_ standing: StoreRecord.Standing) {
        _ = try? folder.guarding(name) {
            guard var record = try folder.record(of: name), record.current == version, record.standing != .proven else {
                return
            }
            record.standing = standing
            try folder.write(record)
        }
    }
}

extension AccelError {
    /// Whether an error of opening or running a version is a reason to go back to the one before. A wrong request is none.
    var isOfVersion: Bool {
        ![.invalid, .notFound, .cancelled, .timedOut, .busy].contains(code)
    }
}
