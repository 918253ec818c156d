import AccelByteIO
import AccelFormats
import AccelPackages
import AccelPrograms
import AccelWeightCompression

/// The source of an export: a package, which is an encoded model already, or a model that a run encodes.
struct ExportSource {
    private enum Content {
        case package(AcceleratorPackage)
        /// A model with its last plan.
        case model(ConversionRun, PlannedModel)
    }
    private var content: Content
    /// The last plan of the model; nil for a package.
    var planned: PlannedModel? { if case .model(_, let planned) = content { planned } else { nil } }
    /// The search of the request's target; nil without one.
    var search: TargetSearch? { if case .model(let run, _) = content { run.search } else { nil } }

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
            content = .package(package)
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
            let planned = try request.planned(writing: [NamedPath(name: "the export", path: output)], settings)
            try planned.warnings().forEach { emit(.warning($0)) }
            planned.notes.forEach { emit(.note($0)) }
            content = .model(try ConversionRun(planned, settings), planned)
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
        return switch content {
        case .package(let package): CacheKey(exporting: package.digest, as: name, choices: choices)
        case .model(let run, _): run.key.map { CacheKey(exporting: $0, as: name, choices: choices) }
        }
    }

    /// Returns the model to export. Weights of a package stay encoded as they are; weights of a model are compressed by the recipe, or
    /// kept in half precision if the format does not support the scheme and the exporter's options allow that.
    /// - Parameter lister: an exporter that lists the schemes that its format lacks, for the search of a target; nil for all schemes.
    mutating func encoded(
        for exporter: any Exporter, searchingWith lister: (any Exporter)?, output: String,
        emit: (ConversionEvent) -> Void
    ) throws -> ExportedModel {
        var run: ConversionRun
        let planned: PlannedModel
        switch content {
        case .package(let package): return try EncodedModel(package).exported()
        case .model(let own, let plan): (run, planned) = (own, plan)
        }
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
        content = .model(run, scaled.planned)
        return encoded.exported(plain: plain)
    }
}
