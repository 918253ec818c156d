import AccelByteIO
import AccelFormats
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors

enum InspectCommand: Command {
    static let name = "inspect"
    static let summary = "show what a model, a safetensors file, or a package is"
    static let file = Positional(
        "MODEL", "a model as convert takes it, a .safetensors file, a package (folder or zip), or a Core ML package",
        takes: PathKind.models + [.package, .coreML])
    static let shape = Option(
        "shape", .text("DIM=N,.."), "of a model: count multiply-adds for these numbers, not for the usual ones",
        isRepeatable: true)
    static let tensors = Option("tensors", .flag, "of a model or a Core ML package: list every tensor too")
    static let configuration = Option("config", .input("FILE"), "config.json of a MODEL that is a single file")
    static let plan = Option("plan", .flag, "of a package: each function's kernel calls and where their values lie")
    static let graph = Option("graph", .flag, "of a package: each function's nodes, and what each reads")
    static let operators = Option("operators", .flag, "of a package: how often each function calls each operator")
    static let check = Option(
        "check", .flag, "of a package or a Core ML package: read every byte and compare it with its digest")
    static let positionals = [file]
    static let options = [
        configuration, ConversionArguments.ignoredFields, shape, tensors, graph, plan, operators, check,
        CommonOptions.json,
    ]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let path = try arguments.required(file)
        let inspection = try inspection(of: path, arguments, console)
        if arguments.has(CommonOptions.json) { console.print(inspection.json) } else { console.print(inspection.text) }
        inspection.warnings.forEach(console.warning)
        return .success
    }

    /// By what stands at the path.
    private static func inspection(of path: String, _ arguments: Arguments, _ console: Console) throws -> Inspection {
        let kind = PathKind.ofPackage(path)
        if kind == .package {
            try arguments.refuse(
                [configuration, ConversionArguments.ignoredFields, shape, tensors], "\(path) is a package",
                for: "models")
            let package = try AcceleratorPackage(at: path)
            if arguments.has(check) {
                let progress = console.progress("checking", total: package.manifest.files.count)
                try package.check { progress.step($0) }
            }
            return try Inspection(
                package, graph: arguments.has(graph), plan: arguments.has(plan), operators: arguments.has(operators))
        }
        if kind == .coreML {
            let reason = "\(path) is a Core ML package"
            try arguments.refuse([configuration, ConversionArguments.ignoredFields, shape], reason, for: "models")
            try arguments.refuse([graph, plan, operators], reason, for: "packages of accelc")
            let package = try CoreMLPackage(at: path)
            if arguments.has(check), try !package.check() {
                console.warning("\(path) carries no digests: only the layout of its files was checked")
            }
            return try Inspection(package, allWeights: arguments.has(tensors))
        }
        try arguments.refuse([graph, plan, operators, check], "\(path) is not a package", for: "packages")
        if Files.kind(of: path) == .file, !path.hasSuffix(".json"), arguments[configuration] == nil {
            try arguments.refuse(
                [ConversionArguments.ignoredFields, shape, tensors],
                "\(path) is a file without a configuration (--config)", for: "models")
            return Inspection(try SafetensorsFile(path))
        }
        let checkpoint = try Checkpoint(model: path, arguments)
        let family = try Families.matching(checkpoint.configuration)
        let shapes = try arguments.all(shape).map { try ShapeBindings(parsing: $0) }
        let survey = try ModelSurvey(of: checkpoint, by: family, shapes: shapes)
        return Inspection(checkpoint, family, survey, tensors: arguments.has(tensors))
    }
}

/// What `inspect` shows, for people and for programs.
struct Inspection {
    var text: String
    var json: JSON
    /// What is worth knowing of its files; part of `json`.
    var warnings: [String] = []
}
