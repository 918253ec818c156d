package import AccelByteIO
import AccelCalibration
import AccelWeightCompression

/// A compression plan on disk: `recipe.json` and `statistics.safetensors` reproduce the package; `front.json` and
/// `report.html` list the candidates. The folder is a draft until `publish`, and is removed with this value otherwise.
package final class PlanFolder: Sendable {
    private static let others = [SolvedTarget.recipeName, "report.html", SolvedTarget.statisticsName]
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
        try OutputKind.foreignMember(of: path, besides: others + [SolvedTarget.choiceName])
            ?? OutputKind.missingMark(TargetChoice.mark, in: "\(path)/\(SolvedTarget.choiceName)")
            ?? WrittenDocument.change(of: SolvedTarget.choiceName, in: path)
    }

    /// - Throws: `RequestError` if there is something other than an earlier plan at `path`.
    init(_ path: String) throws {
        Files.parentFolder(of: path).map { try? Files.makeFolder($0) }
        let target = try AtomicFolder(replacing: path, as: Self.kind)
        (self.path, folder) = (path, target.path)
        draft = Locked(Draft(target: target))
    }

    /// Writes the recipe, its statistics and the report.
    func write(_ solved: SolvedTarget) throws {
        let choice = solved.choice
        draft.withLock { $0.members = choice.members }
        var statistics = try AtomicFile(
            replacing: "\(folder)/\(SolvedTarget.statisticsName)", as: .internal)
        for part in solved.statisticsFile { try statistics.write(part) }
        try statistics.commit()
        try write(solved.recipeText, to: SolvedTarget.recipeName)
        let chart = ParetoChart(
            points: choice.points, chosen: (choice.bits, choice.outputs.sqnr), losses: choice.losses)
        try write(chart.page(title: "Plan for \(choice.target)", facts: choice.facts), to: "report.html")
    }

    /// Checks again that `path` may be replaced, before the package is published.
    func requireReplaceable() throws { try Self.kind.requireReplaceable(path) }

    /// Publishes the folder at its path, once, right after the package: of several concurrent runs the same one is then usually last
    /// at both paths. The recorded digest shows whether plan and package belong together.
    /// - Parameter package: the digest of the plan's package; nil for an export.
    func publish(package: Digest?) throws {
        guard let members = draft.withLock({ $0.target == nil ? nil : $0.members }) else { return }
        let own = package.map { [JSON.Member("package", .string($0.description))] } ?? []
        try write(
            WrittenDocument.text(of: members + own, listing: Self.others, in: folder),
            to: SolvedTarget.choiceName)
        try draft.withLock { draft in
            guard let target = draft.target.take() else { return }
            try target.commit()
        }
    }

    /// The bytes of all files, after the folder is published.
    var byteCount: Int { (Self.others + [SolvedTarget.choiceName]).reduce(0) { $0 + bytes(of: $1) } }
    /// The bytes of the activation statistics, after the folder is published.
    var statisticsBytes: Int { bytes(of: SolvedTarget.statisticsName) }

    private func bytes(of name: String) -> Int {
        Files.identity(of: "\(path)/\(name)").map { Int(clamping: $0.size) } ?? 0
    }

    private func write(_ text: String, to name: String) throws {
        try AtomicFile.write(text, to: "\(folder)/\(name)", as: .internal)
    }
}
