import AccelByteIO
import AccelFormats
import AccelPackages

enum DiffCommand: Command {
    static let name = "diff"
    static let summary = "show what differs between two models; exit status 1 when something does"
    static let left = Positional("A", "a package (folder or zip), or any other model", takes: PathKind.models)
    static let right = Positional("B", "another one", takes: PathKind.models)
    static let positionals = [left, right]
    static let options = [CommonOptions.json]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let left = try ModelFormats.open(try arguments.required(left))
        let right = try ModelFormats.open(try arguments.required(right))
        // Of packages, the digests are compared: so they have to be those of the bytes.
        try left.requireUnchanged()
        try right.requireUnchanged()
        let diff = try left.difference(from: right)
        if arguments.has(CommonOptions.json) {
            console.print(diff.json)
        } else {
            console.summary(String(diff.text.dropLast()))
        }
        return diff.differences.isEmpty ? .success : .exceeded
    }
}
