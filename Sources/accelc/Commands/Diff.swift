import AccelByteIO
import AccelFormats
import AccelPackages
import AccelWeightCompression

enum DiffCommand: Command {
    static let name = "diff"
    static let summary = "list the differences of two models, recipes or reports; exit status 1 if there are any"
    static let left = Positional(
        "A",
        "a package, any other model, a recipe, a compression plan, or a report. A report is a file of verify --report, or "
            + "verify.json of a package", takes: kinds)
    static let right = Positional("B", "another one of the same kind", takes: kinds)
    private static let kinds = PathKind.models + [.recipe, .plan, .report]
    static let positionals = [left, right]
    static let options = [CommonOptions.json]
    static let notes = """
        Speeds of two reports are printed but are no difference, because no two runs measure the same speed. A
        budget can limit the speed.
        """

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let (left, right) = (try arguments.required(left), try arguments.required(right))
        if let (left, right) = try pair(ReportDiff.Side.open, left, right, .report) {
            let diff = ReportDiff(left: left, right: right)
            console.result(diff.json, diff.text(folds: !console.isVerbose))
            return diff.isEmpty ? .success : .exceeded
        }
        let diff = try difference(left, right)
        console.result(diff.json, String(diff.text.dropLast()))
        return diff.differences.isEmpty ? .success : .exceeded
    }

    private static func difference(_ left: String, _ right: String) throws -> PackageDiff {
        if let (left, right) = try pair(RecipeFile.open, left, right, .recipe) {
            return PackageDiff(recipes: left.recipe.json, right.recipe.json)
        }
        for path in [left, right] where Files.kind(of: path) == .file && PathKind(of: path) == nil {
            throw RequestError("\(path) is no model, recipe or report: diff compares two of one of these kinds")
        }
        let (left, right) = (try ModelFormats.open(left), try ModelFormats.open(right))
        // Of packages, the digests are compared: so they have to be those of the bytes.
        try left.requireUnchanged()
        try right.requireUnchanged()
        return try left.difference(from: right)
    }

    /// Opens two files of a kind; nil if neither is one.
    /// - Throws: `RequestError` if only one is.
    private static func pair<File>(
        _ open: (String) throws -> File?, _ left: String, _ right: String, _ kind: PathKind
    ) throws -> (File, File)? {
        func mismatch(_ path: String, _ other: String) -> RequestError {
            guard Files.kind(of: other) != nil else {
                return RequestError(
                    Files.brokenLink(other) ?? "there is no file or folder \(other)\(Files.suggestion(for: other))",
                    status: .unavailable)
            }
            return RequestError(
                "\(path) is \(kind.title), and \(other) is none: diff compares two models, two recipes, or two reports")
        }
        switch (try open(left), try open(right)) {
        case (let left?, let right?): return (left, right)
        case (_?, nil): throw mismatch(left, right)
        case (nil, _?): throw mismatch(right, left)
        case (nil, nil): return nil
        }
    }
}
