import ByteIO
import ModelFamilies
import Packages
import Programs
import Tensors
import WeightCompression

/// The cache that a command works with.
enum CacheChoice {
    static let folder = Option(
        "cache", .folder("DIR"),
        "where results of earlier conversions are kept (default: $ACCELC_CACHE, else the "
            + "platform's folder for caches)")
    static let none = Option(
        "no-cache", .flag, "neither look for earlier results nor keep new ones", excludes: ["cache"])
    static let durability = Option(
        "cache-durability", .words(CacheDurability.allCases.map(\.rawValue)),
        "what is left of new results after a power cut: perhaps nothing, all that the drive was given, or all (a damaged "
            + "result is never used)", default: CacheDurability.none.rawValue)
    static let options = [folder, none, durability]

    /// nil where it is switched off, or where there is no place for one.
    static func cache(_ arguments: Arguments, _ console: Console) -> Cache? {
        let durability = arguments[durability].flatMap(CacheDurability.init)
        guard !arguments.has(none), let root = arguments[folder] ?? Cache.defaultRoot() else { return nil }
        let isQuiet = console.isQuiet
        return Cache(root: root, durability: durability ?? .none, warn: { if !isQuiet { Console.warn($0) } })
    }
}

/// What the cache did for a conversion.
enum CacheOutcome: String {
    /// There is none, or it was not to be used.
    case off
    /// An earlier conversion had made the package.
    case hit
    case miss
}

extension CacheKey {
    /// Names the package that a request makes of a model.
    init(_ request: ConversionRequest, _ digests: ModelDigests, _ functions: [FrozenProgram]) throws {
        let samples = try request.samples.map { TreeDigest.digest(of: try MappedFile($0).bytes) }
        self.init(
            sources: digests.sources, parts: request.parts, shapes: functions.map(\.functionName),
            recipe: request.recipe.json,
            options: (samples.map { [(ModelCalibration.calibrate.name, $0.description)] } ?? [])
                + (request.budget.map { [("target", $0.text)] } ?? []))
    }
}
