import AccelByteIO
import AccelFormats
import AccelPrograms

enum InspectCommand: Command {
    static let name = "inspect"
    static let summary = "describe a model, a package, a safetensors file, or a recipe"
    static let file = Positional(
        "MODEL",
        "a model as convert takes it, a package, a recipe, or a compression plan. Also a .safetensors file or a Core ML package",
        takes: PathKind.models + [.recipe, .plan])
    static let shape = Option(
        "shape", .text("DIM=N,.."), in: .shapes,
        "count multiply-adds of a model for these sizes, not for the usual ones",
        isCommon: true, isRepeatable: true)
    static let tensors = Option(
        "tensors", .flag, in: .output,
        "list the tensors too. Tensors of layers with the same storage share a line; --verbose prints a line for each",
        isCommon: true)
    static let configuration = Option(
        "config", .input("FILE"), in: .input, "the config.json of a model that is a single file", isCommon: true)
    static let plan = Option(
        "plan", .flag, in: .output,
        "list the kernel calls of each function of a package. The memory plan is listed too",
        isCommon: true)
    static let graph = Option(
        "graph", .flag, in: .output, "list the nodes of each function, with their inputs", isCommon: true)
    static let operators = Option(
        "operators", .flag, in: .output, "count the operators of each function of a package", isCommon: true)
    static let check = Option(
        "check", .flag, in: .output,
        "compare every byte of a package with its digest. Core ML packages are checked too",
        isCommon: true)
    static let lint = Option(
        "lint", .flag, in: .output,
        "list what devices are known to reject or slow down in an export", isCommon: true)
    static let positionals = [file]
    static let options = [
        configuration, ConversionArguments.ignoredFields.option, shape, tensors, graph, plan, operators, check, lint,
        CommonOptions.json,
    ]

    static let examples = ["accelc inspect minilm.accelpkg", "accelc inspect Qwen3-0.6B --tensors"]

    /// The options that need an ability of the source, and the kind of sources that have it, for errors.
    private static let needs: [(ability: SourceAbility, options: [Option], things: String)] = [
        (.shapes, [configuration, ConversionArguments.ignoredFields.option, shape], "models"),
        (.tensors, [tensors], "models and packages"), (.graph, [graph], "what has functions"),
        (.plan, [plan, operators], "packages of accelc"), (.check, [check], "packages"),
        (.lint, [lint], "Core ML packages and Core AI models"),
    ]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let path = try arguments.required(file)
        if let recipe = try RecipeFile.open(path) {
            try arguments.reject(needs.flatMap(\.options), "\(path) is a recipe", for: "models and packages")
            return show(recipe.inspection, console)
        }
        let source = try source(path, arguments)
        for need in needs where !source.abilities.contains(need.ability) {
            try arguments.reject(need.options, "\(path) is \(source.title)", for: need.things)
        }
        var checked: Int?
        if arguments.has(check) {
            let progress = console.progress("checking", total: source.checkedFileCount)
            var files = 0
            let step = { (file: String) in
                files += 1
                progress.step(file)
            }
            if try source.check(progress: step) {
                checked = files
            } else {
                console.warning("\(path) carries no digests: only the layout of its files was checked")
            }
        }
        let request = InspectionRequest(
            shapes: try arguments.all(shape).map { try ShapeBindings(parsing: $0) }, tensors: arguments.has(tensors),
            graph: arguments.has(graph), plan: arguments.has(plan), operators: arguments.has(operators),
            folds: !console.isVerbose)
        var inspection = try (source as? any InspectedSource)?.inspection(request) ?? Inspection(source, request)
        if let checked { inspection.add(checkedFiles: checked) }
        if arguments.has(lint) { inspection.add(try source.lint()) }
        return show(inspection, console)
    }

    private static func show(_ inspection: Inspection, _ console: Console) -> ExitStatus {
        console.result(inspection.json, inspection.text)
        inspection.warnings.forEach(console.warning)
        return inspection.status
    }

    /// Opens a source. A format with a fixed configuration is opened without configuration options, so that all sources
    /// reject those options in the same way.
    private static func source(_ path: String, _ arguments: Arguments) throws -> any ModelSource {
        let format = ModelFormats.recognising(path) ?? ModelFormats.named(by: path)
        return try ModelFormats.open(
            path, format?.takesConfiguration == false ? OpeningOptions() : try arguments.opening)
    }
}

/// The requested parts of an inspection.
struct InspectionRequest {
    var shapes: [ShapeBindings] = []
    var tensors = false
    var graph = false
    var plan = false
    var operators = false
    /// Tensors that are stored alike, and whose names differ in consecutive numbers only, share a line.
    var folds = true
}

/// A source whose inspection shows more than the one for every source.
protocol InspectedSource: ModelSource {
    func inspection(_ request: InspectionRequest) throws -> Inspection
}

/// The output of `inspect`, as text and as JSON.
struct Inspection {
    var text: String
    var json: JSON
    /// Warnings about its files; they are part of `json`.
    var warnings: [String] = []
    /// The status that the command ends with: `corrupt` for a source that cannot be converted because of its tensors.
    var status = ExitStatus.success

    /// Says that every byte was read, of so many files, and is the one that was written.
    mutating func add(checkedFiles count: Int) {
        text += "\nchecked: every byte of \(Wording.count(count, "file")) was read and matches its digest"
        guard case .object(let members) = json else { return }
        json = .object(members + [.init("checked_files", .int(count))])
    }

    /// Lists what the linter has found.
    mutating func add(_ findings: [LintFinding]) {
        text +=
            "\n\n"
            + (["lint: \(findings.summary ?? "nothing found")"] + findings.map { "  \($0.text)" })
            .joined(separator: "\n")
        guard case .object(let members) = json else { return }
        json = .object(members + [.init("lint", .array(findings.map(\.json)))])
    }
}

extension ModelSource {
    /// The name of the source in errors.
    var title: String {
        (self as? HuggingFaceModel)?.isTensorsOnly == true ? "a file without a configuration (--config)" : format.title
    }
}
