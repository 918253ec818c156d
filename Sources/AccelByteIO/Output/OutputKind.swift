/// A kind of output, with what tells one that accelc wrote from anything else. An output takes the place of nothing at all, or of
/// an earlier output of its own kind; this type decides that for every file and folder that is written.
///
/// The layer that knows a format defines its kind. The decision falls when a command begins, so that nobody waits for a result that
/// cannot be written, and again when the result is published (`TemporaryPaths.publish`).
public struct OutputKind: Sendable {
    /// With its article, for errors: "a package folder".
    public let name: String
    /// nil: whatever is being written.
    private let form: Files.Kind?
    private let recognize: @Sendable (_ path: String) throws -> String?

    /// A kind of file.
    /// - Parameter objection: returns, or throws, why the regular file at a path is not one that accelc wrote; nil when it is.
    public static func file(_ name: String, objection: @escaping @Sendable (_ path: String) throws -> String?)
        -> OutputKind
    {
        OutputKind(name: name, form: .file, recognize: objection)
    }

    /// A kind of folder.
    /// - Parameter objection: the same of a folder. What is in it besides the output is an objection too: it would go with the folder.
    public static func folder(
        _ name: String, objection: @escaping @Sendable (_ path: String) throws -> String?
    ) -> OutputKind {
        OutputKind(name: name, form: .folder, recognize: objection)
    }

    /// What lies inside of a draft or of the cache, where nobody else's files stand. It is not asked what it is.
    public static let `internal` = OutputKind(name: "a file of accelc's own", form: nil) { _ in nil }

    private init(
        name: String, form: Files.Kind?, recognize: @escaping @Sendable (_ path: String) throws -> String?
    ) {
        self.name = name
        self.form = form
        self.recognize = recognize
    }

    /// Whether what stands at a path is looked at before it is replaced.
    var isAsked: Bool { form != nil }

    /// Decides whether `path` may be written: nothing stands there, or an earlier output of this kind.
    /// - Throws: `RequestError` (usage) with what stands there and what to do.
    public func requireReplaceable(_ path: String) throws(RequestError) {
        if let reason = objection(to: path, form: form) { throw refusal(of: path, reason) }
    }

    /// Why what stands at `path` may not be replaced; nil: it may, or nothing stands there.
    /// - Parameter written: what is to take its place.
    func objection(to path: String, form written: Files.Kind?) -> String? {
        if let form, let written, form != written { return "\(name) cannot be written as \(written)" }
        // A link leads to something that somebody else named, or to nothing: neither is replaced.
        let path = Files.trimmingSlashes(path)
        while true {
            guard let node = Files.node(ofEntry: path) else { return nil }
            let reason = objection(toEntry: path, form: written)
            // Another process may have replaced it while it was looked at.
            if reason == nil || Files.node(ofEntry: path) == node { return reason }
        }
    }

    private func objection(toEntry path: String, form written: Files.Kind?) -> String? {
        guard let found = Files.kindWithoutFollowing(path) else { return nil }
        if let written, found != written { return "it is \(found)" }
        do {
            return try recognize(path)
        } catch {
            return "\(error)"
        }
    }

    func refusal(of path: String, _ reason: String) -> RequestError {
        let what = isAsked ? "\(name) that accelc wrote" : "something that can be replaced"
        return RequestError("\(path) exists, and is not \(what): \(reason); move it away, or choose another name")
    }
}
