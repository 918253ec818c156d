import AccelPlatform

extension TemporaryPaths {
    private enum Step {
        case published
        /// Another process created or removed an entry in between.
        case again
        case rejected(String)
        case failed(Int32)
    }

    /// Publishes the content of `temporary` under the name `path`, in place of an earlier output of its kind. If
    /// several processes publish under one name, the last one wins; at every moment the name has a complete result.
    /// Nothing is published after `removeAll` has begun, because its content may be partly removed.
    ///
    /// An existing entry is tested three times: before it is touched; then a new name is only created if there is none,
    /// and an existing entry only exchanged; and again after the exchange, when no other process can reach it. If the
    /// last test fails, the two entries are exchanged back.
    /// - Parameter form: whether it is a file or a folder.
    /// - Throws: `RequestError`: usage if another entry exists, unavailable if a system call fails.
    static func publish(_ temporary: String, as path: String, kind: OutputKind, form: Files.Kind) throws(RequestError) {
        var replaced: [String] = []
        defer { replaced.forEach { discardReplaced($0) } }
        while true {
            Disk.note(.deciding(path: path))
            try kind.requireReplaceable(path, by: form)
            Disk.note(.publishing(temporary: temporary, path: path))
            let step = paths.withLock { paths in
                // In drafts and the cache, a plain rename is enough.
                if !kind.isAsked, form == .file { return renamed(temporary, path, &paths) }
                if Files.kindWithoutFollowing(path) == nil { return named(temporary, path, &paths) }
                return exchanged(temporary, path, kind, form, &paths, &replaced)
            }
            switch step {
            case .published:
                Disk.note(.published(path: path))
                return
            case .again: continue
            case .rejected(let reason): throw kind.rejection(of: path, reason)
            case .failed(let number):
                throw RequestError("cannot write \(path): \(systemMessage(number))", status: .unavailable)
            }
        }
    }

    /// Publishes `temporary` under the name `path`, unless there is an entry of that name.
    /// - Returns: False if there is one, which is left as it is.
    static func publish(_ temporary: String, asNew path: String) throws(RequestError) -> Bool {
        Disk.note(.publishing(temporary: temporary, path: path))
        switch paths.withLock({ named(temporary, path, &$0) }) {
        case .published:
            Disk.note(.published(path: path))
            return true
        case .failed(let number):
            throw RequestError("cannot write \(path): \(systemMessage(number))", status: .unavailable)
        case .again, .rejected: return false
        }
    }

    private static func renamed(_ temporary: String, _ path: String, _ paths: inout Set<String>) -> Step {
        guard rename(temporary, path) == 0 else { return .failed(errno) }
        // A rename does nothing if both names are of one file, which has two hard links.
        unlink(temporary)
        paths.remove(temporary)
        return .published
    }

    private static func named(_ temporary: String, _ path: String, _ paths: inout Set<String>) -> Step {
        guard Disk.renameExclusively(temporary, path) else {
            return [EEXIST, ENOTEMPTY].contains(errno) ? .again : .failed(errno)
        }
        paths.remove(temporary)
        return .published
    }

    private static func exchanged(
        _ temporary: String, _ path: String, _ kind: OutputKind, _ form: Files.Kind, _ paths: inout Set<String>,
        _ replaced: inout [String]
    ) -> Step {
        // With the name of a replaced entry: a process that is killed after the exchange leaves what it has not looked at.
        let aside = Self.path(temporary, .replaced)
        guard rename(temporary, aside) == 0 else { return .failed(errno) }
        paths.insert(aside)
        /// Gives the draft its name again.
        func moveBack(_ paths: inout Set<String>) {
            if rename(aside, temporary) == 0 { paths.remove(aside) }
        }
        guard cp_exchange(aside, path) == 0 else {
            let number = errno
            moveBack(&paths)
            if number == ENOENT { return .again }
            // The file system cannot exchange two entries.
            return form == .file
                ? renamed(temporary, path, &paths) : movingAside(temporary, path, kind, form, &paths, &replaced)
        }
        if let reason = kind.rejectionReason(for: aside, form: form) {
            let isBack = cp_exchange(aside, path) == 0
            // An entry that could not be moved back must not be removed.
            if isBack { moveBack(&paths) } else { paths.remove(aside) }
            return .rejected(Self.reason(reason, of: aside, as: path, isBack))
        }
        paths.remove(temporary)
        replaced.append(aside)
        return .published
    }

    /// Removes an earlier output that was replaced. First it gets the name of a draft, because its rest, after the process was killed,
    /// would not be recognised as an output.
    private static func discardReplaced(_ aside: String) {
        let draft = path(aside, .draft)
        let isDraft = paths.withLock { paths in
            guard paths.contains(aside), rename(aside, draft) == 0 else { return false }
            paths.remove(aside)
            paths.insert(draft)
            return true
        }
        discard(isDraft ? draft : aside)
    }

    /// Replaces a folder on file systems that cannot exchange two; for a moment, nothing has the name.
    private static func movingAside(
        _ temporary: String, _ path: String, _ kind: OutputKind, _ form: Files.Kind, _ paths: inout Set<String>,
        _ replaced: inout [String]
    ) -> Step {
        guard let aside = try? sibling(of: path, .replaced) else { return .failed(EINVAL) }
        guard rename(path, aside) == 0 else { return errno == ENOENT ? .again : .failed(errno) }
        if let reason = kind.rejectionReason(for: aside, form: form) {
            return .rejected(Self.reason(reason, of: aside, as: path, Disk.renameExclusively(aside, path)))
        }
        paths.insert(aside)
        let step = named(temporary, path, &paths)
        if case .failed = step, Disk.renameExclusively(aside, path) {
            paths.remove(aside)
        } else {
            replaced.append(aside)
        }
        return step
    }

    private static func reason(_ reason: String, of location: String, as path: String, _ isBack: Bool) -> String {
        reason.substituting(location, by: path) + (isBack ? "" : "; it is now at \(location)")
    }
}
