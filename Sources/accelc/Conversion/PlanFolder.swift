import ByteIO
import Calibration
import Verification
import WeightCompression

/// A plan on disk: `recipe.json` and `statistics.safetensors` make the package again; `front.json` and `report.html`
/// tell what there was to choose from. The folder appears whole or not at all.
struct PlanFolder: ~Copyable {
    private static let names = ["front.json", "recipe.json", "report.html", "statistics.safetensors"]
    private static let mark = "compression plan"
    private let folder: AtomicFolder

    /// A folder that holds an earlier plan and nothing else.
    static let kind = OutputKind.folder("a plan") { path in
        try OutputKind.foreignMember(of: path, besides: names) ?? OutputKind.missingMark(mark, in: "\(path)/front.json")
    }

    /// - Throws: `RequestError` when something stands at `path` that is no earlier plan.
    init(_ path: String) throws {
        Files.parentFolder(of: path).map { try? Files.makeFolder($0) }
        folder = try AtomicFolder(replacing: path, as: Self.kind)
    }

    /// - Returns: what the recipe says of the file of statistics.
    func write(
        _ plan: BudgetPlan, _ front: [ParetoPoint], statistics: [String: ActivationStatistics], _ choice: TargetChoice
    ) throws -> Recipe.StatisticsReference {
        let name = "statistics.safetensors"
        try StatisticsFile.write(statistics, to: "\(folder.path)/\(name)")
        let points: [JSON] = front.map {
            [
                "bytes": .integer(Int64($0.bytes)), "bits_per_weight": .number($0.bits), "sqnr": .number($0.sqnr),
                "measured": .bool($0.isMeasured),
            ]
        }
        let document: JSON = [
            "accelc": .string(Self.mark), "target": .string(choice.target), "bytes": .integer(Int64(plan.bytes)),
            "bits_per_weight": .number(plan.bits),
            "sqnr": .number(plan.sqnr), "uniform": .bool(plan.isUniform), "points": .array(points),
            "weights": choice.json,
        ]
        try write(document.text(pretty: true), to: "front.json")
        let chart = ParetoChart(
            points: front.map { .init(bits: $0.bits, sqnr: $0.sqnr, isMeasured: $0.isMeasured) },
            chosen: (plan.bits, plan.sqnr))
        try write(chart.page(title: "Plan for \(choice.target)"), to: "report.html")
        return Recipe.StatisticsReference(
            file: name, digest: TreeDigest.digest(of: try MappedFile("\(folder.path)/\(name)").bytes))
    }

    /// Writes the recipe, and gives the folder its name.
    consuming func finish(_ recipe: Recipe) throws {
        try write(recipe.json.text(pretty: true), to: "recipe.json")
        try folder.commit()
    }

    private func write(_ text: String, to name: String) throws {
        var file = try AtomicFile(replacing: "\(folder.path)/\(name)", as: .internal)
        try file.write(text)
        try file.commit()
    }
}
