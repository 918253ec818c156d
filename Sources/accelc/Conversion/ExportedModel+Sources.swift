import AccelByteIO
import AccelFormats
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// What `export` takes a model from.
enum ExportSource {
    case package(AcceleratorPackage)
    case model(RequestedModel, digests: ModelDigests)

    /// - Throws: `RequestError` for options that a package has settled.
    init(_ request: ConversionRequest, _ arguments: Arguments, cache: Cache?, threads: Int) throws {
        guard AcceleratorPackage.looksLikePackage(at: request.model) else {
            let model = try RequestedModel(request, threads: threads)
            self = .model(model, digests: try ModelDigests(model.checkpoint, cache: cache, threads: threads))
            return
        }
        let settled = ConversionRequest.options.filter(arguments.has)
        if let option = settled.first {
            throw RequestError("\(request.model) is a package, which settles --\(option.name): leave it out")
        }
        self = .package(try AcceleratorPackage(at: request.model))
    }

    /// What is worth knowing of its files and of the request.
    var warnings: [String] {
        switch self {
        case .package(let package): package.remarks
        case .model(let model, _): model.warnings
        }
    }

    /// A sentence on the functions where nobody asked for their shapes; nil where somebody did.
    var usualShapes: String? {
        guard case .model(let model, _) = self, model.request.takesUsualShapes,
            model.functions.contains(where: { !$0.bindings.numbers.isEmpty })
        else { return nil }
        let names = model.functions.map(\.functionName).joined(separator: ", ")
        return "functions: \(names) (the usual shapes; --shape chooses others)"
    }

    /// nil where nothing is looked for: there is no cache, or a plan is to be made anew.
    func key(for exporter: any Exporter.Type, _ choices: ExportOptionValues) throws -> CacheKey? {
        let format = "\(exporter.name) \(exporter.version)"
        let choices = choices.choices(of: exporter.options)
        switch self {
        case .package(let package): return CacheKey(exporting: package.digest, as: format, choices: choices)
        case .model(let model, let digests):
            guard model.request.budget == nil else { return nil }
            return CacheKey(
                exporting: CacheKey(model.request, digests, model.functions), as: format, choices: choices)
        }
    }

    /// The functions, with weights as the package has them, or compressed as asked for unless the format cannot express
    /// them; and the plan by which they were chosen, to be published with the export.
    func model(
        for exporter: any Exporter, _ arguments: Arguments, _ console: Console, cache: Cache?, output: String
    ) throws -> (model: ExportedModel, plan: PlanFolder?) {
        switch self {
        case .package(let package):
            let coverage = try package.coverage
            guard coverage.allSatisfy({ $0.scaling == nil }) else { throw Self.scaledChannels(package.path) }
            let exported = ExportedModel(
                program: package.graph.compressed,
                family: package.manifest.provenance.family,
                provenance: [("accelc.package", package.digest.description)]
                    + Self.provenance(
                        package.manifest.provenance.recipe, package.manifest.functions.map(\.name),
                        package.manifest.provenance.sources)
                    + Self.note(package.manifest.provenance.ignoredTensors))
            return (exported, nil)
        case .model(var model, let digests):
            try model.meetTarget(writingPlanTo: arguments[BudgetRequest.plan])
            model.choice?.tell(console)
            guard model.plan.allSatisfy({ $0.choice.codec.method != .awq }) else {
                throw Self.scaledChannels(model.request.model)
            }
            let plain = try exporter.check(model.functions, model.plan)
            try model.leavePlain(Array(plain.keys))
            let kept = KeptTensors(
                cache: cache, digests: digests, output: output, model: model.request.model, threads: console.threads)
            let memory = model.statistics(in: cache, digests)
            let compressed = try model.compressed(
                keptIn: kept, remembering: memory, digests: digests,
                progress: console.progress("compressing", total: model.plan.count))
            try model.finish(digests, memory)
            let exported = ExportedModel(
                program: compressed, family: type(of: model.family).modelTypes.first ?? "",
                provenance: Self.provenance(
                    model.recipe.json, model.functions.map(\.functionName), digests.sources)
                    + Self.note(model.request.ignoredTensors),
                plain: plain)
            return (exported, model.planFolder)
        }
    }

    private static func note(_ ignoredTensors: [String]) -> [(key: String, text: String)] {
        ignoredTensors.isEmpty
            ? [] : [(ExportedModel.ignoredTensorsKey, ignoredTensors.joined(separator: "\n"))]
    }

    /// By what the export can be made again from the model.
    private static func provenance(
        _ recipe: JSON, _ functions: [String], _ sources: [Provenance.Source]
    ) -> [(key: String, text: String)] {
        [
            ("accelc.version", Tool.version), ("accelc.recipe", recipe.text()),
            ("accelc.shapes", functions.joined(separator: " ")),
        ] + sources.map { ("accelc.source.\($0.name)", $0.digest.description) }
    }

    /// Who reads an export compares its weights with the model's, and finds no exponents there.
    private static func scaledChannels(_ subject: String) -> RequestError {
        RequestError(
            "\(subject): method=awq stores weights with channels scaled, and only packages of accelc say by what; "
                + "for an export choose method=gptq")
    }
}
