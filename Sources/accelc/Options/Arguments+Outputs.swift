import AccelByteIO
import AccelConversion
import AccelPackages
import AccelTensors

extension NamedPath {
    init(_ option: Option, _ path: String) {
        self.init(name: option.short.map { "-\($0)" } ?? "--\(option.name)", path: path)
    }
}

extension Arguments {
    /// All paths that the command writes.
    var outputs: [NamedPath] {
        command.allOptions.compactMap { option in
            guard case .output = option.kind else { return nil }
            return self[option].map { NamedPath(option, $0) }
        }
    }

    /// Checks all outputs before a command begins: only an earlier output of the same kind may exist at the path, and
    /// the path must have no name of another kind, and must not be, contain or lie in an input, another output or a cache.
    /// The check is repeated when an output is published.
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
            case .location, .flag, .text, .integer, .seconds, .decimal, .words: break
            }
        }
        guard !outputs.isEmpty else { return }
        for (output, kind) in zip(outputs, kinds) { try OutputNames.require(output, of: kind) }
        for positional in command.positionals {
            guard case .path = positional.kind else { continue }
            // What is nothing known is rejected when it is read, which says more than where the output is.
            inputs += all(positional).filter { Files.kind(of: $0) != .folder || !PathKind.kinds(of: $0).isEmpty }
                .map { NamedPath(name: positional.name, path: $0) }
        }
        for (index, output) in outputs.enumerated() {
            let location = PathLocation(output.path)
            for input in inputs {
                try output.require(
                    location.relation(toInput: Checkpoint.path(of: input.path) ?? input.path), to: input,
                    which: "which is read")
            }
            for other in outputs[..<index] {
                try output.require(
                    location.relation(to: PathLocation(other.path)), to: other, which: "which is written too")
            }
            if let cache = self[CacheChoice.folder] ?? Cache.defaultRoot() {
                try output.require(
                    location.relation(to: PathLocation(cache)), to: NamedPath(name: "the cache", path: cache),
                    which: "where only accelc's own files are")
            }
            if let cache = location.folders.first(where: Cache.isCache) {
                try output.require(
                    .inside, to: NamedPath(name: "a cache", path: cache), which: "where only accelc's own files are")
            }
        }
        for (output, kind) in zip(outputs, kinds) {
            try kind.requireReplaceable(output.path)
            try kind.requireFolder(of: output.path)
        }
    }
}
