import AccelByteIO
import AccelPackages
import AccelTensors

/// A path of the command line, and what the tables call it.
struct NamedPath: Sendable {
    let name: String
    let path: String

    init(_ option: Option, _ path: String) {
        (name, self.path) = (option.short.map { "-\($0)" } ?? "--\(option.name)", path)
    }

    init(name: String, path: String) { (self.name, self.path) = (name, path) }

    /// - Throws: `RequestError` when this output is `other`, lies in it or has it inside, or `relation` says another such thing.
    fileprivate func require(_ relation: PathPlace.Relation?, to other: NamedPath, which reason: String) throws {
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

extension Arguments {
    /// All that the command is going to write.
    var outputs: [NamedPath] {
        command.allOptions.compactMap { option in
            guard case .output = option.kind else { return nil }
            return self[option].map { NamedPath(option, $0) }
        }
    }

    /// Decides, before a command begins, about all that it is going to write: nothing stands there but an earlier output of the
    /// same kind, no input is it, lies in it or has it inside, and it lies in no cache. What is published is decided about once more then.
    /// - Throws: `RequestError`
    func requireReplaceableOutputs() throws {
        let outputs = outputs
        var inputs: [NamedPath] = []
        var kinds: [OutputKind] = []
        for option in command.allOptions {
            guard self[option] != nil else { continue }
            switch option.kind {
            case .output(_, let kind): kinds.append(try kind(self))
            case .input: inputs += all(option).map { NamedPath(option, $0) }
            case .place, .flag, .text, .integer, .seconds, .words: break
            }
        }
        guard !outputs.isEmpty else { return }
        for positional in command.positionals {
            guard case .path = positional.kind else { continue }
            inputs += all(positional).map { NamedPath(name: positional.name, path: $0) }
        }
        for (index, output) in outputs.enumerated() {
            let place = PathPlace(output.path)
            for input in inputs {
                try output.require(
                    place.relation(toInput: Checkpoint.path(of: input.path) ?? input.path), to: input,
                    which: "which is read")
            }
            for other in outputs[..<index] {
                try output.require(place.relation(to: PathPlace(other.path)), to: other, which: "which is written too")
            }
            if let cache = self[CacheChoice.folder] ?? Cache.defaultRoot() {
                try output.require(
                    place.relation(to: PathPlace(cache)), to: NamedPath(name: "the cache", path: cache),
                    which: "where only accelc's own files are")
            }
            if let cache = place.folders.first(where: Cache.isCache) {
                try output.require(
                    .inside, to: NamedPath(name: "a cache", path: cache), which: "where only accelc's own files are")
            }
        }
        for (output, kind) in zip(outputs, kinds) { try kind.requireReplaceable(output.path) }
    }
}

/// Where a path leads, however it is written: through links, by another name of the same file, to something that is not there yet.
struct PathPlace {
    /// The real paths of what is there, and of every folder above, the innermost first.
    let folders: [String]
    /// The same as nodes.
    private let nodes: [Files.Node]
    /// The names below the innermost folder that is there; none where all is there.
    private let missing: [String]

    enum Relation: String, CustomStringConvertible {
        case same = "is"
        case contains = "contains"
        case inside = "lies in"
        case member = "is a file of"
        var description: String { rawValue }
    }

    init(_ path: String) {
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

    /// What this path has to do with another; nil: nothing.
    func relation(to other: PathPlace) -> Relation? {
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

    /// The same of something that is read, with the files in it: links in a model's folder lead to its files, and a file may have
    /// several names.
    func relation(toInput path: String) -> Relation? {
        if let relation = relation(to: PathPlace(path)) { return relation }
        for member in Self.members(of: path, depth: 2) {
            if let node, Files.node(of: member) == node { return .member }
            if Files.kindWithoutFollowing(member) == .link, relation(to: PathPlace(member)) == .contains {
                return .contains
            }
        }
        return nil
    }

    /// What lies in a folder and in its folders: no model or package is deeper.
    private static func members(of path: String, depth: Int) -> [String] {
        guard depth > 0, Files.kind(of: path) == .folder else { return [] }
        return ((try? Files.list(path)) ?? []).flatMap { name -> [String] in
            let member = "\(path)/\(name)"
            return [member]
                + (Files.kindWithoutFollowing(member) == .folder ? members(of: member, depth: depth - 1) : [])
        }
    }
}
