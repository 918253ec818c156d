/// A kind of output, with a test that recognises earlier outputs of accelc. An output may only replace nothing, or an
/// earlier output of its kind; this type decides that for every file and folder that is written.
///
/// The layer that defines a format also defines its kind. The decision is made when a command begins, so that nobody
/// waits for a result that cannot be written, and again when the result is published (`TemporaryPaths.publish`).
public struct OutputKind: Sendable {
    /// The name with its article, for errors: "a package folder".
    public let name: String
    /// The suffixes that names of such outputs usually have, the first one for new names; empty for folders without one.
    public let suffixes: [String]
    /// A file or a folder; nil for internal outputs of either kind.
    private let form: Files.Kind?
    private let recognize: @Sendable (_ path: String) throws -> String?

    /// Returns a kind of file.
    /// - Parameters:
    ///   - suffixes: the suffixes of its names, e.g. `.json`.
    ///   - rejectionReason: returns, or throws, why the regular file at a path is not an output of accelc; nil if it is.
    public static func file(
        _ name: String, suffixes: [String] = [],
        rejectionReason: @escaping @Sendable (_ path: String) throws -> String?
    ) -> OutputKind {
        OutputKind(name: name, suffixes: suffixes, form: .file, recognize: rejectionReason)
    }

    /// Returns a kind of folder.
    /// - Parameters:
    ///   - suffixes: as for files.
    ///   - rejectionReason: as for files. Any other content of the folder is a reason, too, because it would be removed with
    ///     the folder.
    public static func folder(
        _ name: String, suffixes: [String] = [],
        rejectionReason: @escaping @Sendable (_ path: String) throws -> String?
    ) -> OutputKind {
        OutputKind(name: name, suffixes: suffixes, form: .folder, recognize: rejectionReason)
    }

    /// The kind of files within drafts and the cache, where no other program writes. Existing entries are not tested.
    public static let `internal` = OutputKind(name: "a file of accelc's own", suffixes: [], form: nil) { _ in nil }

    private init(
        name: String, suffixes: [String], form: Files.Kind?,
        recognize: @escaping @Sendable (_ path: String) throws -> String?
    ) {
        self.name = name
        self.suffixes = suffixes
        self.form = form
        self.recognize = recognize
    }

    /// Existing entries are tested before they are replaced.
    var isAsked: Bool { form != nil }

    /// Checks that something can be made at `path`, before any work for it: its folder is there and can be written to.
    /// - Throws: `RequestError` (unavailable) as the write itself would; (usage) for the name of a folder where a file is written.
    public func requireFolder(of path: String) throws(RequestError) {
        if form == .file, path.hasSuffix("/"), Files.kind(of: path) == nil {
            throw RequestError("cannot write \(path): \(name) is a file; leave out the slash at the end")
        }
        guard let parent = Files.parentFolder(of: path), !Files.mayWrite(in: parent) else { return }
        throw RequestError("cannot write \(path): \(TemporaryPaths.failure(beside: path))", status: .unavailable)
    }

    /// Checks that `path` may be written: it does not exist, or is an earlier output of this kind.
    /// - Throws: `RequestError` (usage) with the reason and a solution.
    public func requireReplaceable(_ path: String) throws(RequestError) {
        try requireReplaceable(path, by: form)
    }

    /// - Parameter written: the kind of the new entry.
    func requireReplaceable(_ path: String, by written: Files.Kind?) throws(RequestError) {
        if let reason = rejectionReason(for: path, form: written) { throw rejection(of: path, reason) }
    }

    /// Returns why the entry at `path` may not be replaced; nil if it may, or if there is none.
    /// - Parameter written: the kind of the new entry.
    func rejectionReason(for path: String, form written: Files.Kind?) -> String? {
        if let form, let written, form != written { return "\(name) cannot be written as \(written)" }
        // A link refers to something that another program named, or to nothing: neither is replaced.
        let path = Files.trimmingSlashes(path)
        while true {
            guard let node = Files.node(ofEntry: path) else { return nil }
            let reason = rejectionReason(forEntry: path, form: written)
            // Another process may have replaced the entry during the test.
            if reason == nil || Files.node(ofEntry: path) == node { return reason }
        }
    }

    private func rejectionReason(forEntry path: String, form written: Files.Kind?) -> String? {
        guard let found = Files.kindWithoutFollowing(path) else { return nil }
        if let written, found != written { return "it is \(found)" }
        do {
            return try recognize(path)
        } catch {
            return "\(error)"
        }
    }

    func rejection(of path: String, _ reason: String) -> RequestError {
        let what = isAsked ? "\(name) that accelc wrote" : "something that can be replaced"
        // What is neither a file nor a folder is the system's, or another program's.
        let isMovable = [.file, .folder].contains(Files.kindWithoutFollowing(Files.trimmingSlashes(path)))
        let remedy = isMovable ? "move it away, or choose another name" : "choose another name"
        return RequestError("\(path) exists, and is not \(what): \(reason); \(remedy)")
    }
}
