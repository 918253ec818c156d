import AccelByteIO
import AccelPackages

enum DiffCommand: Command {
    static let name = "diff"
    static let summary = "show what differs between two packages; exit status 1 when something does"
    static let left = Positional("A", "a package (folder or zip)", takes: [.package])
    static let right = Positional("B", "another one", takes: [.package])
    static let positionals = [left, right]
    static let options = [CommonOptions.json]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let left = try AcceleratorPackage(at: try arguments.required(left))
        let right = try AcceleratorPackage(at: try arguments.required(right))
        let diff = try PackageDiff(left, right)
        if arguments.has(CommonOptions.json) {
            console.print(diff.json)
        } else {
            console.print(String(diff.text.dropLast()))
        }
        return diff.differences.isEmpty ? .success : .exceeded
    }
}
