/// The location that a path refers to: through links, by another name of the same file, or of an entry that does not
/// exist yet.
package struct PathLocation {
    /// The real paths of the existing entry and of every folder above it, the innermost first.
    package let folders: [String]
    /// The identities of these folders.
    private let nodes: [Files.Node]
    /// The names of components below the innermost existing folder; empty if the entry exists.
    private let missing: [String]

    package enum Relation: String, CustomStringConvertible {
        case same = "is"
        case contains = "contains"
        case inside = "lies in"
        case member = "is a file of"
        package var description: String { rawValue }
    }

    package init(_ path: String) {
        var (rest, missing) = (path, [String]())
        var real = Files.realPath(of: rest)
        while real == nil, let parent = Files.parentFolder(of: rest), parent != rest {
            missing.insert(Files.name(of: rest), at: 0)
            rest = parent
            real = Files.realPath(of: rest)
        }
        var (folders, nodes): ([String], [Files.Node]) = ([], [])
        while let folder = real {
            folders.append(folder)
            if let node = Files.node(of: folder) { nodes.append(node) }
            real = folder == "/" ? nil : Files.parentFolder(of: folder)
        }
        (self.folders, self.nodes, self.missing) = (folders, nodes, missing)
    }

    private var node: Files.Node? { missing.isEmpty ? nodes.first : nil }

    /// Returns the relation of this location to another; nil if they are unrelated.
    package func relation(to other: PathLocation) -> Relation? {
        switch (node, other.node) {
        case (let node?, let otherNode?) where node == otherNode: return .same
        case (let node?, _) where other.nodes.contains(node): return .contains
        case (_, let otherNode?): return nodes.contains(otherNode) ? .inside : nil
        default: break
        }
        guard nodes.first == other.nodes.first, node == nil else { return nil }
        if missing == other.missing { return .same }
        if missing.starts(with: other.missing) { return .inside }
        return other.missing.starts(with: missing) ? .contains : nil
    }

    /// Returns the relation to an input and the files in it: links in a model's folder refer to its files, and a file
    /// may have several names.
    package func relation(toInput path: String) -> Relation? {
        if let relation = relation(to: PathLocation(path)) { return relation }
        for member in Self.members(of: path, depth: 2) {
            if let node, Files.node(of: member) == node { return .member }
            if Files.kindWithoutFollowing(member) == .link, relation(to: PathLocation(member)) == .contains {
                return .contains
            }
        }
        return nil
    }

    /// Returns the entries of a folder and its subfolders, to a depth that suffices for every model and package.
    private static func members(of path: String, depth: Int) -> [String] {
        guard depth > 0, Files.kind(of: path) == .folder else { return [] }
        return ((try? Files.list(path)) ?? []).flatMap { name -> [String] in
            let member = "\(path)/\(name)"
            return [member]
                + (Files.kindWithoutFollowing(member) == .folder ? members(of: member, depth: depth - 1) : [])
        }
    }
}
