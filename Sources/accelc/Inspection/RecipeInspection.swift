import AccelByteIO
import AccelConversion
import AccelTensors
import AccelWeightCompression

/// A recipe that stands alone, or in the folder of a compression plan.
struct RecipeFile {
    /// The path of the recipe's file.
    let path: String
    let recipe: Recipe
    /// The recipe has a default. Without one it applies only with a target, which chooses the other schemes.
    private let hasDefault: Bool
    /// The target of the compression plan and the figures that it reaches, in words; nil for a recipe without a plan.
    private let plan: String?

    /// - Parameter path: a recipe, or the folder of a compression plan.
    /// - Throws: `FormatError` if it is not valid.
    init(_ path: String) throws {
        let isPlan = Files.kind(of: path) == .folder
        self.path = isPlan ? "\(Files.trimmingSlashes(path))/\(SolvedTarget.recipeName)" : path
        let document = try JSON.read(self.path)
        hasDefault = document["default"] != nil
        recipe = try Recipe(JSONField(TargetArguments.completed(document), file: self.path))
        guard isPlan else {
            plan = nil
            return
        }
        let file = "\(Files.trimmingSlashes(path))/\(SolvedTarget.choiceName)"
        let front = JSONField(try JSON.read(file), file: file)
        func decibels(_ field: JSONField) throws -> String {
            field.value == .null ? "exact" : "\(Text.decimals(try field.double(), 2)) dB"
        }
        let sqnr = try decibels(front["sqnr"])
        let held = front["held_out"].exists ? ", \(try decibels(front["held_out"])) over those held out" : ""
        plan =
            "plan for target \(try front["target"].string()): \(Text.decimals(try front["bits_per_weight"].double(), 2)) bits "
            + "for each weight that it chose for, outputs over the samples \(sqnr)\(held)"
    }

    /// Returns nil if the path is that of a model.
    static func open(_ path: String) throws -> RecipeFile? {
        guard let kind = PathKind(of: path), [.recipe, .plan].contains(kind) else { return nil }
        return try RecipeFile(path)
    }

    var inspection: Inspection { Inspection(text: text, json: recipe.json) }

    private var text: String {
        let activations = recipe.activations == .none ? "" : ", activations \(recipe.activations.specification)"
        var lines = [
            "\(path): a recipe with "
                + (hasDefault ? recipe.summary : "\(recipe.ruleCount), no default, for a target (--target-size)")
                + activations
        ]
        plan.map { lines.append($0) }
        if !recipe.rules.isEmpty { lines.append(recipe.table) }
        if let statistics = recipe.statistics {
            let folder = Files.parentFolder(of: path) ?? "."
            let file = statistics.file.hasPrefix("/") ? statistics.file : "\(folder)/\(statistics.file)"
            let size = Files.identity(of: file).map { Wording.bytes(Int(clamping: $0.size)) } ?? "which is missing"
            lines.append("statistics: \(statistics.file), \(size)")
        }
        return lines.joined(separator: "\n")
    }
}

extension Recipe {
    /// The default and the number of rules, in words.
    var summary: String { "\(ruleCount), default \(mix?.name ?? defaultCodec.values.request)" }

    fileprivate var ruleCount: String { Wording.count(rules.count, "rule") }

    /// A row for each rule, in order of precedence. Rules that differ in numbers of their names only share a row.
    var table: String {
        func conditions(_ rule: Recipe.Rule) -> String {
            let others = [
                rule.operator.map { "read by \($0)" },
                rule.atLeast.map { "of \(Wording.grouped($0)) elements or more" },
            ]
            return others.compactMap(\.self).joined(separator: ", ")
        }
        func effect(_ rule: Recipe.Rule) -> String {
            rule.codec.values.request + (rule.activations.map { ", activations \($0.specification)" } ?? "")
        }
        let groups = FoldedNames.all(rules, name: { $0.match ?? "*" }) { [conditions($0), effect($0)] }
        let rows = groups.compactMap { group -> [String]? in
            group.elements.first.map {
                [group.name, conditions($0), effect($0), Wording.grouped(group.elements.count)]
            }
        }
        var columns: [(head: TextTable.Column, cell: Int)] = [
            ("weights", 0), ("stored as", 2), (.number("rules"), 3),
        ]
        if rows.contains(where: { !$0[1].isEmpty }) { columns.insert(("that are", 1), at: 1) }
        return Text.table(columns.map(\.head), rows.map { row in columns.map { row[$0.cell] } })
    }
}
