import AccelByteIO
import AccelFormats
import AccelPackages
import AccelWeightCompression

enum DiffCommand: Command {
    static let name = "diff"
    static let summary = "show what differs between two models or recipes; exit status 1 when something does"
    static let left = Positional(
        "A", "a package (folder or zip), any other model, a recipe, or the folder of a plan",
        takes: PathKind.models + [.recipe, .plan])
    static let right = Positional("B", "another one", takes: PathKind.models + [.recipe, .plan])
    static let positionals = [left, right]
    static let options = [CommonOptions.json]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let diff = try difference(arguments.required(left), arguments.required(right))
        if arguments.has(CommonOptions.json) {
            console.print(diff.json)
        } else {
            console.summary(String(diff.text.dropLast()))
        }
        return diff.differences.isEmpty ? .success : .exceeded
    }

    private static func difference(_ left: String, _ right: String) throws -> PackageDiff {
        switch (try RecipeFile.open(left), try RecipeFile.open(right)) {
        case (let left?, let right?): return PackageDiff(recipes: left.recipe.json, right.recipe.json)
        case (_?, nil):
            throw RequestError("\(left) is a recipe, and \(right) is none: diff compares two recipes, or two models")
        case (nil, _?):
            throw RequestError("\(right) is a recipe, and \(left) is none: diff compares two recipes, or two models")
        case (nil, nil):
            let (left, right) = (try ModelFormats.open(left), try ModelFormats.open(right))
            // Of packages, the digests are compared: so they have to be those of the bytes.
            try left.requireUnchanged()
            try right.requireUnchanged()
            return try left.difference(from: right)
        }
    }
}
