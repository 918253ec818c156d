import AccelByteIO
import AccelFormats
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The source of an export: a finished package, or a model that is compressed first.
enum ExportSource {
    case package(AcceleratorPackage)
    case model(RequestedModel, digests: ModelDigests)

    /// - Throws: `RequestError` for options that do not apply to a package, such as shapes or samples.
    init(_ request: Conversion, _ settings: ConversionSettings) throws {
        guard AcceleratorPackage.looksLikePackage(at: request.model) else {
            let model = try RequestedModel(request, writing: nil, settings)
            self = .model(
                model, digests: try model.source.digests(cache: settings.cache, threads: settings.threads))
            return
        }
        if let choice = request.choicesOfModel.first {
            throw RequestError("\(request.model) is a package, which settles \(choice): leave it out")
        }
        let package = try AcceleratorPackage(at: request.model)
        // The cache keeps exports by what the manifest says of the weights: damaged ones would be found for sound packages.
        try package.check()
        self = .package(package)
    }

    /// Remarks on the files and warnings on the request.
    var warnings: [String] {
        switch self {
        case .package(let package): package.remarks
        case .model(let model, _): model.warnings
        }
    }

    /// Sentences on the samples.
    var notes: [String] {
        switch self {
        case .package: []
        case .model(let model, _): model.notes
        }
    }

    /// A sentence on caches that a format without functions does not hold; nil if there is nothing to say.
    func cacheRemark(for format: any Exporter.Type) -> String? {
        guard case .package(let package) = self, !format.dependsOnShapes, package.manifest.provenance.states != .float32
        else { return nil }
        return
            "the package keeps its caches as \(package.manifest.provenance.states.rawValue), which --format \(format.name) does not hold: its runtimes "
            + "choose that"
    }

    /// What the shapes of the functions change, as a package records it.
    var shapeRemarks: [String] {
        switch self {
        case .package(let package): package.manifest.provenance.remarks
        case .model(let model, _): model.functions.remarks
        }
    }

    /// A sentence on the functions if the model's usual shapes are used; else nil.
    var usualShapes: String? {
        guard case .model(let model, _) = self, model.request.takesUsualShapes, model.model.functions == nil,
            model.functions.contains(where: { !$0.bindings.numbers.isEmpty })
        else { return nil }
        let names = model.functions.map(\.functionName).joined(separator: ", ")
        return "functions: \(names) (the usual shapes; --shape chooses others)"
    }

    /// The model as it was requested; nil for a package.
    var requested: RequestedModel? { if case .model(let model, _) = self { model } else { nil } }

    /// The cache key of the export; nil with a target, whose compression plan is written again each time.
    func key(for exporter: any Exporter.Type, _ choices: ExportOptionValues) throws -> CacheKey? {
        let format = "\(exporter.name) \(exporter.version)"
        let choices = choices.choices(of: exporter.options)
        switch self {
        case .package(let package): return CacheKey(exporting: package.digest, as: format, choices: choices)
        case .model(let model, let digests):
            guard model.request.target == nil else { return nil }
            return CacheKey(
                exporting: try model.request.key(digests, of: model.model, model.functions), as: format,
                choices: choices)
        }
    }

    /// Returns the model to export, and the request that it was made by; nil for a package. Weights of a package stay encoded as they
    /// are; weights of a model are compressed by the recipe, or kept in half precision if the format does not support the
    /// scheme and the exporter's options allow that.
    /// - Parameter lister: an exporter that lists the schemes that its format lacks, for the search of a target; nil for all schemes.
    func model(
        for exporter: any Exporter, searchingWith lister: (any Exporter)?, _ settings: ConversionSettings,
        output: String,
        emit: (ConversionEvent) -> Void
    ) throws -> (model: ExportedModel, request: RequestedModel?) {
        switch self {
        case .package(let package):
            let contents = try package.contents
            let scalings = contents.coverage.compactMap { entry in entry.scaling.map { (entry.tensor.name, $0) } }
            let exported = ExportedModel(
                program: package.graph.compressed,
                family: package.manifest.provenance.family,
                provenance: [("accelc.package", package.digest.description)]
                    + Self.provenance(
                        package.manifest.provenance.recipe, package.manifest.functions.map(\.name),
                        package.manifest.provenance.sources)
                    + Self.notes(package.manifest.provenance.ignoredTensors, package.manifest.provenance.logits),
                scalings: Dictionary(scalings) { first, _ in first }, origins: contents.origins,
                assets: contents.assets.filter { $0.name != PackageProbe.assetName })
            return (exported, nil)
        case .model(var model, let digests):
            try model.draftPlan(beside: output)
            let key = try settings.cache.map { _ in
                try model.request.key(digests, of: model.model, model.functions)
            }
            let (origins, assets) = (model.model.origins, try model.source.assets)
            func planned(_ functions: [FrozenProgram], _ plan: [PlannedWeight]) -> PlannedExport {
                PlannedExport(functions, plan, family: model.model.family, origins: origins, assets: assets)
            }
            if let lister {
                let functions = try model.quantizedFunctions()
                model.unsupported = try UnsupportedSchemes(of: lister, model.plan) { planned(functions, $0) }
            }
            if let cache = settings.cache, let key { try model.recallTarget(key, in: cache, emit: emit) }
            try model.meetTarget(emit: emit)
            let memory = model.statistics(in: settings.cache, digests)
            let plain = try exporter.check(planned(model.quantizedFunctions(), model.plan))
            try model.leavePlain(Array(plain.keys), as: type(of: exporter).plainScheme)
            let kept = KeptTensors(
                cache: settings.cache, digests: digests, output: output, model: model.request.model,
                threads: settings.threads)
            try model.scaleChannels(remembering: memory)
            let compressed = try model.compressed(
                keptIn: kept, remembering: memory, digests: digests, emit: emit)
            try model.finish(digests, memory)
            if let cache = settings.cache, let key { model.keepTarget(key, in: cache) }
            let exported = ExportedModel(
                program: compressed, family: model.model.family,
                provenance: Self.provenance(
                    model.recipe.json, model.functions.map(\.functionName), digests.sources)
                    + Self.notes(model.request.ignoredTensors, model.request.logits),
                plain: plain, scalings: model.scalings, origins: origins, assets: assets)
            return (exported, model)
        }
    }

    /// Choices of the request that are not the default.
    private static func notes(
        _ ignoredTensors: [String], _ logits: LogitPositions
    ) -> [(key: String, text: String)] {
        (ignoredTensors.isEmpty
            ? [] : [(ExportedModel.ignoredTensorsKey, ignoredTensors.joined(separator: "\n"))])
            + (logits == .all ? [] : [(ExportedModel.logitsKey, logits.rawValue)])
    }

    /// The keys from which the export can be reproduced.
    private static func provenance(
        _ recipe: JSON, _ functions: [String], _ sources: [Provenance.Source]
    ) -> [(key: String, text: String)] {
        [
            ("accelc.version", Tool.version), ("accelc.recipe", recipe.text()),
            ("accelc.shapes", functions.joined(separator: " ")),
        ] + sources.map { ("accelc.source.\($0.name)", $0.digest.description) }
    }
}

extension PackageContents {
    /// The origin of the weights in the tensors of the checkpoint that the package was made of.
    fileprivate var origins: TensorOrigins {
        let derivations = coverage.compactMap { entry in entry.derivation.map { (entry.tensor.name, $0) } }
        let copies = coverage.filter { !$0.copies.isEmpty }.map { ($0.tensor.name, $0.copies) }
        return TensorOrigins(
            derivations: Dictionary(derivations) { first, _ in first },
            copies: Dictionary(copies) { first, _ in first }, kept: keptTensors)
    }
}

extension Conversion {
    /// The request's options that do not apply to a package. The recipe is not among them, as it always has a default.
    fileprivate var choicesOfModel: [String] {
        [
            ("parts", !parts.isEmpty), ("shapes", !takesUsualShapes), ("a target", target != nil),
            ("samples", samples != nil), ("an importance matrix", importance != nil),
            ("a configuration", configuration != nil),
            ("ignored fields", !ignoredFields.isEmpty), ("adapters", !adapters.isEmpty),
            ("an interface", interfaceFile != nil),
            ("ignored tensors", !ignoredTensors.isEmpty), ("a type of states", states != .float32),
            ("the logits", logits != .all),
        ].filter(\.1).map(\.0)
    }
}
