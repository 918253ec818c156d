import AccelByteIO
import AccelFormats
import AccelPackages
import AccelPrograms
import AccelWeightCompression

/// The source of an export: a package, which is an encoded model already, or a model that a run encodes.
struct ExportSource {
    /// nil for a model.
    private let package: AcceleratorPackage?
    /// nil for a package.
    private var run: ConversionRun?
    /// The last plan of the model; nil for a package.
    private(set) var planned: PlannedModel?
    /// The search of the request's target; nil without one.
    var search: TargetSearch? { run?.search }

    /// Opens the source, and emits warnings and notes on it.
    /// - Throws: `RequestError` for choices that do not apply to a package, such as shapes or samples.
    init(
        _ request: Conversion, for format: any Exporter.Type, writing output: String, _ settings: ConversionSettings,
        emit: (ConversionEvent) -> Void
    ) throws {
        var request = request
        request.format = format
        if AcceleratorPackage.looksLikePackage(at: request.model) {
            try request.requireNoChoices()
            let package = try AcceleratorPackage(at: request.model)
            // The cache keeps exports by what the manifest says of the weights: damaged ones would be found for sound packages.
            try package.check()
            self.package = package
            package.remarks.forEach { emit(.warning($0)) }
            let states = package.manifest.provenance.states
            if !format.dependsOnShapes, states != .float32 {
                emit(
                    .note(
                        "the package keeps its caches as \(states.rawValue), which \(format.name) does not hold: its runtimes choose that"
                    ))
            }
            guard format.dependsOnShapes else { return }
            package.manifest.provenance.remarks.forEach { emit(.note("remark: \($0)")) }
        } else {
            package = nil
            let planned = try request.planned(writing: [NamedPath(name: "the export", path: output)], settings)
            try planned.warnings().forEach { emit(.warning($0)) }
            planned.notes.forEach { emit(.note($0)) }
            (self.planned, run) = (planned, try ConversionRun(planned, settings))
            guard format.dependsOnShapes else { return }
            planned.opened.usualShapes.map { emit(.note($0)) }
            planned.functions.remarks.forEach { emit(.note("remark: \($0)")) }
        }
    }

    /// The cache key of the export; nil without a cache, and with a target, whose compression plan is written again each time.
    func key(for format: any Exporter.Type, _ choices: ExportOptionValues, in cache: Cache?) throws -> CacheKey? {
        guard cache != nil, planned?.opened.request.target == nil else { return nil }
        let name = "\(format.name) \(format.version)"
        let choices = choices.choices(of: format.options)
        if let digest = package?.digest { return CacheKey(exporting: digest, as: name, choices: choices) }
        return run?.key.map { CacheKey(exporting: $0, as: name, choices: choices) }
    }

    /// Returns the model to export. Weights of a package stay encoded as they are; weights of a model are compressed by the recipe, or
    /// kept in half precision if the format does not support the scheme and the exporter's options allow that.
    /// - Parameter lister: an exporter that lists the schemes that its format lacks, for the search of a target; nil for all schemes.
    mutating func encoded(
        for exporter: any Exporter, searchingWith lister: (any Exporter)?, output: String,
        emit: (ConversionEvent) -> Void
    ) throws -> ExportedModel {
        if let package { return try EncodedModel(package).exported() }
        guard var run, let planned else { preconditionFailure("an export has a package or a model") }
        let (opened, assets) = (planned.opened, try planned.opened.source.assets)
        func export(_ functions: [FrozenProgram], _ plan: [PlannedWeight]) -> PlannedExport {
            PlannedExport(
                functions, plan, family: opened.model.family, origins: opened.model.origins, assets: assets)
        }
        let unsupported = try lister.map { lister in
            let functions = try planned.quantizedFunctions()
            return try UnsupportedSchemes(of: lister, planned.plan) { export(functions, $0) }
        }
        run.search = try TargetSearch(
            opened.request, run.settings, beside: output, without: unsupported ?? UnsupportedSchemes())
        try run.recallTarget(emit: emit)
        var plain: [String: String] = [:]
        let scaled = try run.scaled(
            adapting: { chosen in
                plain = try exporter.check(export(chosen.quantizedFunctions(), chosen.plan))
                return try chosen.leavingPlain(plain.keys, as: type(of: exporter).plainScheme)
            }, emit: emit)
        let encoded = try run.encoded(scaled, keptIn: run.kept(beside: output), emit: emit)
        (self.run, self.planned) = (run, scaled.planned)
        return encoded.exported(plain: plain)
    }
}
