import AccelByteIO
import AccelFormats
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport

@testable import AccelPackages
@testable import AccelVerification

/// A package of a fixture, and what became of its mutants.
final class MutationSubject {
    let checkpoint: Checkpoint
    let package: AcceleratorPackage
    private let digest: Digest
    /// By the parts and the logits that a package says were asked for.
    private var originals: [[String]: OriginalModel] = [:]

    init(
        _ fixture: String, shapes: [String], recipe: String, parts: [String] = [], logits: LogitPositions = .all,
        states: StateStorage = .float32
    ) throws {
        checkpoint = try Checkpoint(model: Fixtures.path(fixture))
        let family = try Families.matching(checkpoint.configuration)
        let model = try family.model(for: checkpoint, parts: parts)
        let digests = try ModelDigests(checkpoint, cache: nil, threads: 2)
        try digests.complete()
        let whole = SourceModel(model, by: family)
        let original = try OriginalModel(
            whole.computing(logits) ?? whole, of: HuggingFaceModel(checkpoint, path: checkpoint.folder),
            digests: digests)
        let frozen = try original.programs.freezing(shapes.map { try ShapeBindings(parsing: $0) })
            .keepingCaches(in: states)
        let recipe = Recipe(default: try Codecs.codec(recipe))
        let compressed = try recipe.compressing(frozen, threads: 2)
        let contents = PackageContents(
            graph: try compressed.graph(),
            coverage: compressed.weights.map { weight in
                var entry = CoverageEntry(weight)
                entry.derivation = original.origins.derivations[weight.tensor.name]
                entry.copies = original.origins.copies[weight.tensor.name] ?? []
                return entry
            },
            unusedTensors: original.unused, keptTensors: original.origins.kept,
            provenance: Provenance(
                sources: original.sources, family: original.family, familyVersion: original.familyVersion,
                parts: original.parts, logits: original.logits, recipe: recipe.json,
                shapes: frozen.map(\.bindings.description), remarks: frozen.remarks + original.remarks,
                states: states),
            assets: original.assets)
        package = try withTemporaryFolder { folder in
            _ = try PackageWriter.write(contents, to: "\(folder)/p.accelpkg")
            let package = try AcceleratorPackage(at: "\(folder)/p.accelpkg")
            return try AcceleratorPackage(DecodedPackage(package).sealed())
        }
        digest = package.digest
    }

    func original(for package: AcceleratorPackage) throws -> OriginalModel {
        let provenance = package.manifest.provenance
        let choices = provenance.parts + [provenance.logits.rawValue]
        if let known = originals[choices] { return known }
        let made = try OriginalModel(checkpoint, for: package, threads: 2)
        originals[choices] = made
        return made
    }

    enum Outcome: Hashable {
        /// The package is not opened, or its digests do not fit.
        case rejected
        case caught(Stage)
        /// The report passes and says that another version made the package; all else is what a conversion makes.
        case remarked
        /// The recipe is another one and stores each weight as the package does: what it says of the package is true.
        case equal
        case missed
    }

    /// - Parameter stages: the cheap ones run first, the others where those find nothing.
    /// - Returns: nil where nothing was changed.
    func trial(
        of mutation: Mutation, _ generator: inout SeededGenerator, stages: Set<Stage> = Set(Stage.allCases)
    ) throws -> (change: String, outcome: Outcome)? {
        var decoded = try DecodedPackage(package)
        guard let change = mutation.apply(to: &decoded, &generator) else { return nil }
        let mutant: AcceleratorPackage
        do {
            mutant = try AcceleratorPackage(decoded.sealed())
        } catch {
            return (change, .rejected)
        }
        guard mutant.digest != digest else { return nil }
        return (change, try outcome(of: mutant, stages))
    }

    /// `missed` for a right package.
    func outcome(of mutant: AcceleratorPackage, _ stages: Set<Stage>) throws -> Outcome {
        for group in [[Stage.container], [.structure], [.weights], [.operators, .graph, .outputs]] as [Set<Stage>] {
            let asked = group.intersection(stages)
            guard !asked.isEmpty else { continue }
            do {
                let report = try Parity(of: .package(mutant), against: .model(original(for: mutant)))
                    .check(.init(stages: asked, threads: 2))
                if let failure = report.failures.first { return .caught(failure.stage) }
                if report.structure?.remarks.isEmpty == false { return .remarked }
            } catch is any ReportedError {
                return asked.contains(.container) ? .rejected : .caught(asked.min() ?? .container)
            }
        }
        return try hasPlanOfRecipe(mutant) ? .equal : .missed
    }

    /// Whether all that differs is the recipe's text, and the recipe stores every weight as the package does.
    private func hasPlanOfRecipe(_ mutant: AcceleratorPackage) throws -> Bool {
        var provenance = mutant.manifest.provenance
        provenance.recipe = package.manifest.provenance.recipe
        guard provenance == package.manifest.provenance,
            mutant.manifest.files == package.manifest.files, mutant.manifest.functions == package.manifest.functions,
            mutant.manifest.provenance != provenance
        else { return false }
        guard let recipe = try? Recipe(JSONField(mutant.manifest.provenance.recipe, file: "recipe")) else {
            return false
        }
        let programs = try original(for: package).programs
        let states = package.manifest.provenance.states
        let frozen = FrozenFunctions(programs, states: states, for: package.graph).frozen.compactMap { $0 }
        let plan = recipe.plan(for: frozen).map { "\($0.choice.codec.values.fullRequest) \($0.choice.reason ?? "")" }
        let coverage = try package.coverage
        return plan == coverage.map { "\($0.tensor.codec.values.fullRequest) \($0.reason ?? "")" }
    }
}

/// Counts of outcomes by kind of mutation.
struct MutationTable {
    private(set) var counts: [Mutation: [MutationSubject.Outcome: Int]] = [:]
    private(set) var missed: [String] = []

    mutating func record(_ mutation: Mutation, _ change: String, _ outcome: MutationSubject.Outcome, in name: String) {
        counts[mutation, default: [:]][outcome, default: 0] += 1
        if outcome == .missed { missed.append("\(name): \(mutation.rawValue), \(change)") }
    }

    func total(_ outcomes: MutationSubject.Outcome...) -> Int {
        counts.values.reduce(0) { sum, row in sum + outcomes.reduce(0) { $0 + row[$1, default: 0] } }
    }

    var count: Int { counts.values.reduce(0) { $0 + $1.values.reduce(0, +) } }

    /// A line for each kind: how many were rejected on opening, caught by which stage, only remarked, proved equal, missed.
    var text: String {
        let columns: [(String, MutationSubject.Outcome)] =
            [("rejected", .rejected)] + Stage.allCases.map { ($0.code, .caught($0)) } + [
                ("remarked", .remarked), ("equal", .equal), ("missed", .missed),
            ]
        let rows = Mutation.allCases.map { mutation in
            [mutation.rawValue] + columns.map { "\(counts[mutation]?[$0.1] ?? 0)" }
        }
        let sums = ["all"] + columns.map { "\(total($0.1))" }
        return ([["mutation"] + columns.map(\.0)] + rows + [sums]).map { row in
            row.enumerated().map { index, cell in
                let padding = String(repeating: " ", count: max(0, (index == 0 ? 20 : 9) - cell.count))
                return index == 0 ? cell + padding : padding + cell
            }.joined()
        }.joined(separator: "\n")
    }
}
