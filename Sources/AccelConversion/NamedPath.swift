package import AccelByteIO

/// A path that is read or written, with its name in errors.
package struct NamedPath: Sendable {
    package let name: String
    package let path: String

    package init(name: String, path: String) { (self.name, self.path) = (name, path) }

    /// - Throws: `RequestError` if this output has a relation to `other`: is the same file, contains it, or lies in it.
    package func require(_ relation: PathLocation.Relation?, to other: NamedPath, which reason: String) throws {
        guard let relation else { return }
        let parent = Files.parentFolder(of: Files.absolutePath(of: other.path)) ?? "/"
        let remedy =
            relation == .inside
            ? "choose a place outside of it, such as \(parent == "/" ? "" : parent)/\(Files.name(of: path))"
            : "choose another name"
        throw RequestError(
            "cannot write \(path) (\(name)): it \(relation) \(other.path) (\(other.name)), \(reason); \(remedy)")
    }
}

extension [NamedPath] {
    /// Checks the outputs against the files of the model once these are known; symbolic links may lead to an output.
    /// - Throws: `RequestError` if an output is, contains, or lies in a source file.
    func requireApart(fromSources paths: [String]) throws {
        for output in self {
            let location = PathLocation(output.path)
            for path in paths {
                try output.require(
                    location.relation(to: PathLocation(path)), to: NamedPath(name: "a file of the model", path: path),
                    which: "which is read")
            }
        }
    }
}
