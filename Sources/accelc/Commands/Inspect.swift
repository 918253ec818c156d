import ByteIO
import Packages
import Tensors

enum InspectCommand: Command {
    static let name = "inspect"
    static let summary = "show what is in a safetensors file, a model folder, or a package"
    static let file = Positional("FILE", "a .safetensors file, a model folder, or a package (folder or zip)")
    static let plan = Option("plan", .flag, "of a package: each function's kernel calls and where their values lie")
    static let operators = Option("operators", .flag, "of a package: how often each function calls each operator")
    static let check = Option("check", .flag, "of a package: read every byte and compare it with its digest")
    static let positionals = [file]
    static let options = [plan, operators, check, CommonOptions.json]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let path = try arguments.required(file)
        let inspection = try inspection(of: path, arguments, console)
        if arguments.has(CommonOptions.json) { console.print(inspection.json) } else { console.print(inspection.text) }
        return .success
    }

    /// By what stands at the path.
    private static func inspection(of path: String, _ arguments: Arguments, _ console: Console) throws -> Inspection {
        if AcceleratorPackage.looksLikePackage(at: path) || isPackageByName(path) {
            let package = try AcceleratorPackage(at: path)
            if arguments.has(check) {
                let progress = console.progress("checking", total: package.manifest.files.count)
                try package.check { progress.step($0) }
            }
            return try Inspection(package, plan: arguments.has(plan), operators: arguments.has(operators))
        }
        for option in [plan, operators, check] where arguments.has(option) {
            throw RequestError("\(path) is not a package, and --\(option.name) is for packages only")
        }
        if Files.kind(of: path) == .file { return Inspection(try SafetensorsFile(path)) }
        return Inspection(try Checkpoint(model: path))
    }

    /// A package too broken to be recognised still deserves an error about a package.
    private static func isPackageByName(_ path: String) -> Bool {
        path.hasSuffix(".accelpkg") || path.hasSuffix(".accelpkg/") || path.hasSuffix(".zip")
    }
}

/// What `inspect` shows, for people and for programs.
struct Inspection {
    var text: String
    var json: JSON
}
