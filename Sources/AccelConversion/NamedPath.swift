package import AccelByteIO

/// A path that is read or written, and what errors call it.
package struct NamedPath: Sendable {
    package let name: String
    package let path: String

    package init(name: String, path: String) { (self.name, self.path) = (name, path) }

    /// - Throws: `RequestError` when this output is `other`, lies in it or has it inside, or `relation` says another such thing.
    package func require(_ relation: PathPlace.Relation?, to other: NamedPath, which reason: String) throws {
        guard let relation else { return }
        throw RequestError(
            "cannot write \(path) (\(name)): it \(relation) \(other.path) (\(other.name)), \(reason); choose another name"
        )
    }
}

extension [NamedPath] {
    /// Decides once more about outputs, when the files that are read are known: links lead to some of them.
    /// - Throws: `RequestError`
    func requireApart(fromSources paths: [String]) throws {
        for output in self {
            let place = PathPlace(output.path)
            for path in paths {
                try output.require(
                    place.relation(to: PathPlace(path)), to: NamedPath(name: "a file of the model", path: path),
                    which: "which is read")
            }
        }
    }
}
