import ByteIO
import Tensors

enum InspectCommand: Command {
    static let name = "inspect"
    static let summary = "show what is in a safetensors file, a model folder, or a package"
    static let file = Operand("FILE", "a .safetensors file, a model folder, or a package (folder or zip)")
    static let plan = Option("plan", .flag, "of a package: each function's kernel calls and where their values lie")
    static let operators = Option("operators", .flag, "of a package: how often each function calls each operator")
    static let check = Option("check", .flag, "of a package: read every byte and compare it with its digest")
    static let operands = [file]
    static let options = [plan, operators, check, CommonOptions.json]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let path = try arguments.required(file)
        let inspection = try inspection(of: path, arguments, console)
        if arguments.has(CommonOptions.json) { console.print(inspection.json) } else { console.print(inspection.text) }
        return .success
    }

    /// By what stands at the path: a package says so in its manifest.
    private static func inspection(of path: String, _ arguments: Arguments, _ console: Console) throws -> Inspection {
        for option in [plan, operators, check] where arguments.has(option) {
            throw RequestError("\(path) is not a package, and --\(option.name) shows packages only")
        }
        if Files.kind(of: path) == .file { return Inspection(try SafetensorsFile(path)) }
        return Inspection(try Checkpoint(model: path))
    }
}

/// What `inspect` shows, for people and for programs.
struct Inspection {
    var text: String
    var json: JSON
}
