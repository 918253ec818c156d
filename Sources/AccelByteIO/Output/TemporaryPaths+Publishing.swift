import AccelPlatform

extension TemporaryPaths {
    private enum Step {
        case published
        /// Something appeared or went in between.
        case again
        case refused(String)
        case failed(Int32)
    }

    /// Gives what is at `temporary` its name, in place of an earlier output of its kind. Of several processes that publish under one
    /// name the last one wins; there is no moment at which the name has anything but a whole result. Nothing is published once
    /// `removeAll` has begun: what that has half removed must not appear.
    ///
    /// What stands at `path` is decided about three times: before it is touched; then a new name is only given where there is none,
    /// and an old one only exchanged; and once more after the exchange, where nobody else can find it. If it turns out to be something
    /// else, the two change places again.
    /// - Parameter form: a file or a folder.
    /// - Throws: `RequestError`: usage when something else stands there, unavailable when the system refuses.
    static func publish(_ temporary: String, as path: String, kind: OutputKind, form: Files.Kind) throws(RequestError) {
        var replaced: [String] = []
        defer { replaced.forEach { discard($0) } }
        while true {
            Disk.observer?(.deciding(path: path))
            if let reason = kind.objection(to: path, form: form) { throw kind.refusal(of: path, reason) }
            Disk.observer?(.publishing(temporary: temporary, path: path))
            let step = paths.withLock { paths in
                // Inside of the cache and of drafts one call is enough.
                if !kind.isAsked, form == .file { return renamed(temporary, path, &paths) }
                if Files.kindWithoutFollowing(path) == nil { return named(temporary, path, &paths) }
                return exchanged(temporary, path, kind, form, &paths, &replaced)
            }
            switch step {
            case .published:
                Disk.observer?(.published(path: path))
                return
            case .again: continue
            case .refused(let reason): throw kind.refusal(of: path, reason)
            case .failed(let number):
                throw RequestError("cannot write \(path): \(systemMessage(number))", status: .unavailable)
            }
        }
    }

    private static func renamed(_ temporary: String, _ path: String, _ paths: inout Set<String>) -> Step {
        guard rename(temporary, path) == 0 else { return .failed(errno) }
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
        guard cp_exchange(temporary, path) == 0 else {
            if errno == ENOENT { return .again }
            // The file system cannot let the two change places.
            return form == .file
                ? renamed(temporary, path, &paths) : putAside(temporary, path, kind, form, &paths, &replaced)
        }
        if let reason = kind.objection(to: temporary, form: form) {
            let isBack = cp_exchange(temporary, path) == 0
            // What is not back must at least stay.
            if !isBack { paths.remove(temporary) }
            return .refused(told(reason, of: temporary, as: path, isBack))
        }
        replaced.append(temporary)
        return .published
    }

    /// Where two folders cannot change places: for a moment there is none of that name.
    private static func putAside(
        _ temporary: String, _ path: String, _ kind: OutputKind, _ form: Files.Kind, _ paths: inout Set<String>,
        _ replaced: inout [String]
    ) -> Step {
        guard let aside = try? sibling(of: path) else { return .failed(EINVAL) }
        guard rename(path, aside) == 0 else { return errno == ENOENT ? .again : .failed(errno) }
        if let reason = kind.objection(to: aside, form: form) {
            return .refused(told(reason, of: aside, as: path, Disk.renameExclusively(aside, path)))
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

    private static func told(_ reason: String, of place: String, as path: String, _ isBack: Bool) -> String {
        reason.replacing(place, with: path) + (isBack ? "" : "; it is now at \(place)")
    }
}
