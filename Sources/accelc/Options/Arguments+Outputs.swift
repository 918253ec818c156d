import ByteIO
import Tensors

extension Arguments {
    /// A path of the command line, and what the tables call it.
    private struct NamedPath {
        let name: String
        let path: String
    }

    /// Decides, before a command begins, about all that it is going to write: nothing stands there but an earlier output of the
    /// same kind, and no input is it, lies in it or has it inside. What is published is decided about once more then.
    /// - Throws: `RequestError`
    func requireReplaceableOutputs() throws {
        var (outputs, inputs) = ([NamedPath](), [NamedPath]())
        var kinds: [OutputKind] = []
        for option in command.allOptions {
            guard let value = self[option] else { continue }
            let name = option.short.map { "-\($0)" } ?? "--\(option.name)"
            switch option.kind {
            case .output(_, let kind):
                outputs.append(NamedPath(name: name, path: value))
                kinds.append(try kind(self))
            case .input: inputs += all(option).map { NamedPath(name: name, path: $0) }
            case .place: inputs.append(NamedPath(name: name, path: value))
            case .flag, .text, .integer, .seconds, .words: break
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
                if let relation = place.relation(toInput: Checkpoint.path(of: input.path) ?? input.path) {
                    throw RequestError(
                        "cannot write \(output.path) (\(output.name)): it \(relation) \(input.path) (\(input.name)), which is read; "
                            + "choose another name")
                }
            }
            for other in outputs[..<index] {
                if let relation = place.relation(to: PathPlace(other.path)) {
                    throw RequestError(
                        "cannot write \(output.path) (\(output.name)): it \(relation) \(other.path) (\(other.name)), which is written "
                            + "too; choose another name")
                }
            }
        }
        for (output, kind) in zip(outputs, kinds) { try kind.requireReplaceable(output.path) }
    }
}

/// Where a path leads, however it is written: through links, by another name of the same file, to something that is not there yet.
struct PathPlace {
    /// What is there, and every folder above, the innermost first. The first ones are missing where nothing is there.
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
        var nodes: [Files.Node] = []
        while let folder = real {
            if let node = Files.node(of: folder) { nodes.append(node) }
            real = folder == "/" ? nil : Files.parentFolder(of: folder)
        }
        (self.nodes, self.missing) = (nodes, missing)
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
