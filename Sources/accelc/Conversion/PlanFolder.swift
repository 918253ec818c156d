import ByteIO
import Calibration
import Verification
import WeightCompression

/// A plan on disk: `recipe.json` and `statistics.safetensors` make the package again; `front.json` and `report.html`
/// tell what there was to choose from.
struct PlanFolder {
    let path: String
    init(_ path: String) { self.path = path }

    /// - Returns: what the recipe says of the file of statistics.
    func write(
        _ plan: BudgetPlan, _ front: [ParetoPoint], statistics: [String: ActivationStatistics], target: String
    ) throws -> Recipe.StatisticsReference {
        try Files.makeFolder(path)
        let name = "statistics.safetensors"
        try StatisticsFile.write(statistics, to: "\(path)/\(name)")
        let points: [JSON] = front.map {
            [
                "bytes": .integer(Int64($0.bytes)), "bits_per_weight": .number($0.bits), "sqnr": .number($0.sqnr),
                "measured": .bool($0.isMeasured),
            ]
        }
        let document: JSON = [
            "target": .string(target), "bytes": .integer(Int64(plan.bytes)), "bits_per_weight": .number(plan.bits),
            "sqnr": .number(plan.sqnr), "uniform": .bool(plan.isUniform), "points": .array(points),
        ]
        try write(document.text(pretty: true), to: "front.json")
        let chart = ParetoChart(
            points: front.map { .init(bits: $0.bits, sqnr: $0.sqnr, isMeasured: $0.isMeasured) },
            chosen: (plan.bits, plan.sqnr))
        try write(chart.page(title: "Plan for \(target)"), to: "report.html")
        return Recipe.StatisticsReference(
            file: name, digest: TreeDigest.digest(of: try MappedFile("\(path)/\(name)").bytes))
    }

    func write(_ recipe: Recipe) throws { try write(recipe.json.text(pretty: true), to: "recipe.json") }

    private func write(_ text: String, to name: String) throws {
        var file = try AtomicFile(replacing: "\(path)/\(name)")
        try file.write(text)
        try file.commit()
    }
}
