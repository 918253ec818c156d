import AccelByteIO
import AccelCalibration
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The result of a target's search: a recipe for all weights with its statistics, and what was measured. It makes the package
/// without samples. The cache keeps it, and a plan folder holds it.
package struct SolvedTarget {
    package static let choiceName = "front.json"
    package static let recipeName = "recipe.json"
    package static let statisticsName = "statistics.safetensors"

    let choice: TargetChoice
    /// The recipe with a reference to its statistics.
    let recipe: Recipe
    /// The content of the file of statistics, in parts; in one part if it comes from the cache.
    let statisticsFile: [ByteView]
    /// The statistics; nil while they have not been read from the file.
    private let known: [String: ActivationStatistics]?

    /// - Parameters:
    ///   - recipe: the rules of the request, and one for each weight that the target chose a scheme for.
    ///   - functions: the functions whose weights the recipe is for.
    init(
        _ choice: TargetChoice, _ recipe: Recipe, _ statistics: [String: ActivationStatistics],
        for functions: [FrozenProgram]
    ) throws {
        self.choice = choice
        known = statistics
        var recipe = recipe
        recipe.statistics = nil
        recipe.calibratedWeights = Set(statistics.keys)
        let schemes = recipe.plan(for: functions).schemes
        statisticsFile = try StatisticsFile.parts(statistics, schemes: statistics.isEmpty ? [:] : schemes)
        if !statistics.isEmpty {
            recipe.statistics = Recipe.StatisticsReference(
                file: Self.statisticsName, digest: TreeDigest.digest(of: statisticsFile))
        }
        self.recipe = recipe
    }

    /// Returns the result of an earlier search for the same request; nil if the cache has none, or one that cannot be read.
    /// - Parameter recipe: the recipe of the request, whose facts about the model's files are not part of the result.
    init?(_ key: CacheKey, in cache: Cache, for recipe: Recipe) {
        guard let files = cache.found(cache.compressionPlan(for: key)),
            let statistics = files[Self.statisticsName]
        else { return nil }
        func document(_ name: String) throws -> JSONField {
            JSONField(try JSON.parse(files[name] ?? ByteView([UInt8]()), file: name), file: name)
        }
        guard let choice = try? TargetChoice(document(Self.choiceName)),
            var found = try? Recipe(document(Self.recipeName))
        else { return nil }
        found.encoded = recipe.encoded
        (self.choice, self.recipe, statisticsFile, known) = (choice, found, [statistics], nil)
    }

    /// Keeps the result in the cache.
    func keep(as key: CacheKey, in cache: Cache, model: String) {
        func text(_ name: String, _ text: String) -> (name: String, parts: [ByteView]) {
            (name, [ByteView(Array(text.utf8))])
        }
        cache.store(
            compressionPlan: [
                text(Self.choiceName, JSON.object(choice.members).text()), text(Self.recipeName, recipeText),
                (Self.statisticsName, statisticsFile),
            ], for: key, model: model)
    }

    /// The recipe as a file.
    var recipeText: String { recipe.json.text(pretty: true) }

    /// Returns the activation statistics by weight name.
    func statistics() throws -> [String: ActivationStatistics] {
        if let known { return known }
        guard let content = statisticsFile.first else { return [:] }
        return try StatisticsFile.read(
            SafetensorsFile(content, file: Self.statisticsName), path: Self.statisticsName)
    }
}

extension PlannedWeight {
    /// Returns the weight with another codec.
    func replacing(_ codec: any WeightCodec) -> PlannedWeight {
        PlannedWeight(
            source: source, readers: readers,
            choice: Recipe.Choice(codec: codec, reason: choice.reason, rule: choice.rule))
    }
}

extension [PlannedWeight] {
    /// The scheme of each weight by name, for all that are not stored as in the model.
    var schemes: [String: String] {
        let encoded = filter { !($0.choice.codec is StoredCodec) }
        return Dictionary(encoded.map { ($0.source.name, $0.choice.codec.values.fullRequest) }) { first, _ in first }
    }
}
