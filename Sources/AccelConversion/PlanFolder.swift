package import AccelByteIO
import AccelCalibration
import AccelWeightCompression

/// A compression plan on disk: `recipe.json` and `statistics.safetensors` reproduce the package; `front.json` and
/// `report.html` list the candidates. The folder is a draft until `publish`, and is removed with this value otherwise.
package final class PlanFolder: Sendable {
    private static let front = "front.json"
    private static let statistics = "statistics.safetensors"
    private static let others = ["recipe.json", "report.html", statistics]
    private static let mark = "compression plan"
    let path: String
    private let folder: String
    private let draft: Locked<Draft>

    private struct Draft: ~Copyable {
        var target: AtomicFolder?
        /// The content of front.json.
        var members: [JSON.Member] = []
    }

    /// The output kind of a folder that holds an unchanged earlier plan and nothing else.
    package static let kind = OutputKind.folder("a plan") { path in
        try OutputKind.foreignMember(of: path, besides: others + [front])
            ?? OutputKind.missingMark(mark, in: "\(path)/\(front)") ?? WrittenDocument.change(of: front, in: path)
    }

    /// - Throws: `RequestError` if there is something other than an earlier plan at `path`.
    init(_ path: String) throws {
        Files.parentFolder(of: path).map { try? Files.makeFolder($0) }
        let target = try AtomicFolder(replacing: path, as: Self.kind)
        (self.path, folder) = (path, target.path)
        draft = Locked(Draft(target: target))
    }

    /// Writes the candidates, the report and the statistics.
    /// - Returns: the recipe's reference to the file of statistics.
    func write(
        _ solved: CompressionChoice, statistics: [String: ActivationStatistics], _ choice: TargetChoice
    ) throws -> Recipe.StatisticsReference {
        let (name, plan, front) = (Self.statistics, solved.plan, solved.front)
        try StatisticsFile.write(statistics, to: "\(folder)/\(name)")
        let points: [JSON] = front.map {
            [
                "bytes": .integer(Int64($0.bytes)), "bits_per_weight": .number($0.bits), "sqnr": .number($0.sqnr),
                "measured": .bool($0.isMeasured),
            ]
        }
        let members: [JSON.Member] = [
            .init("accelc", .string(Self.mark)), .init("target", .string(choice.target)),
            .init("bytes", .integer(Int64(plan.bytes))), .init("bits_per_weight", .number(plan.bits)),
            .init("sqnr", .number(plan.sqnr)), .init("uniform", .bool(plan.isUniform)), .init("points", .array(points)),
            .init("weights", choice.json), .init("ranking", choice.ranking),
            .init("sensitivities", choice.sensitivities),
        ]
        draft.withLock { $0.members = members }
        let chart = ParetoChart(
            points: front.map { .init(bits: $0.bits, sqnr: $0.sqnr, isMeasured: $0.isMeasured) },
            chosen: (plan.bits, plan.sqnr), losses: choice.losses)
        try write(chart.page(title: "Plan for \(choice.target)"), to: "report.html")
        return Recipe.StatisticsReference(
            file: name, digest: TreeDigest.digest(of: try MappedFile("\(folder)/\(name)").bytes))
    }

    func write(_ recipe: Recipe) throws { try write(recipe.json.text(pretty: true), to: "recipe.json") }

    /// Checks again that `path` may be replaced, before the package is published.
    func requireReplaceable() throws { try Self.kind.requireReplaceable(path) }

    /// Publishes the folder at its path, right after the package: of several concurrent runs the same one is then usually last
    /// at both paths. The recorded digest shows whether plan and package belong together.
    /// - Parameter package: the digest of the plan's package; nil for an export.
    func publish(package: Digest?) throws {
        let members = draft.withLock { $0.members }
        let own = package.map { [JSON.Member("package", .string($0.description))] } ?? []
        try write(WrittenDocument.text(of: members + own, listing: Self.others, in: folder), to: Self.front)
        try draft.withLock { draft in
            guard let target = draft.target.take() else { return }
            try target.commit()
        }
    }

    /// The bytes of all files, after the folder is published.
    var byteCount: Int { (Self.others + [Self.front]).reduce(0) { $0 + bytes(of: $1) } }
    /// The bytes of the activation statistics, after the folder is published.
    var statisticsBytes: Int { bytes(of: Self.statistics) }

    private func bytes(of name: String) -> Int {
        Files.identity(of: "\(path)/\(name)").map { Int(clamping: $0.size) } ?? 0
    }

    private func write(_ text: String, to name: String) throws {
        try AtomicFile.write(text, to: "\(folder)/\(name)", as: .internal)
    }
}
