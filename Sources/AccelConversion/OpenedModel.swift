import AccelByteIO
import AccelCalibration
import AccelFormats
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// A model that is opened for a request and frozen to its shapes: the first stage of conversions and exports.
struct OpenedModel {
    /// The request with its samples, and with the recipe that the model gets.
    let request: Conversion
    let source: any ModelSource
    /// Its decoders compute the logits that the request asks for.
    let model: SourceModel
    /// The programs that run over samples. They compute all logits, so that activation statistics do not depend on the choice.
    let measured: [Program]
    let functions: [FrozenProgram]

    /// - Parameter outputs: the paths that the request writes.
    /// - Throws: `RequestError` if an output is a file of the model.
    init(_ request: Conversion, writing outputs: [NamedPath] = []) throws {
        source = try request.open()
        let whole = try request.model(of: source)
        model = try request.choosingLogits(of: whole)
        measured = whole.programs
        var request = request
        request.samples = try request.samples(for: model, of: source)
        if request.keepsQuantized, !model.encoded.isEmpty { request.recipe = Recipe(keeping: request.recipe) }
        request.recipe.encoded = model.encoded.mapValues(\.codec)
        // Samples give statistics anew.
        if request.samples != nil { request.recipe.statistics = nil }
        try outputs.requireApart(
            fromSources: source.files.sources.map(\.path) + (model.functions == nil ? [] : [source.path]))
        functions = try request.freezing(model).keepingCaches(in: request.states)
        request.recipe = try request.resolvedRecipe(for: functions, of: model.family)
        self.request = request
    }

    /// Returns the cache key of the package that the request makes.
    func key(_ digests: ModelDigests) throws -> CacheKey {
        var request = request
        if request.onlyMeasuresSamples { (request.samples, request.sampleText) = (nil, nil) }
        let recipe = request.recipe
        return CacheKey(
            sources: digests.sources, parts: request.parts, shapes: functions.map(\.functionName), recipe: recipe.json,
            options: try request.keyEntries + (model.importer.map { [("importer", $0)] } ?? [])
                + (Checkpoint.origin(of: request.model).map { [("origin", $0)] } ?? []),
            versions: ResultVersions(
                family: model.versionedName,
                // A target may choose any codec.
                codecs: request.target == nil ? recipe.numericsVersions : Codecs.numericsVersions,
                calibration: request.samples != nil || recipe.statistics != nil ? Tool.calibrationVersion : nil))
    }

    /// The functions if the model's usual shapes are used; else nil.
    var usualShapes: Diagnostic? {
        guard request.takesUsualShapes, model.functions == nil,
            functions.contains(where: { !$0.bindings.numbers.isEmpty })
        else { return nil }
        let names = functions.map(\.functionName).joined(separator: ", ")
        return Diagnostic("functions: \(names) (the usual shapes)", code: .usualShapes)
    }
}

extension Conversion {
    /// Opens the model, whatever its format.
    func open() throws -> any ModelSource {
        try ModelFormats.open(
            model,
            OpeningOptions(
                configuration: configuration, ignoredFields: ignoredFields, adapters: adapters,
                interfaces: try interfaceFile.map { try InterfaceFile($0) }))
    }

    /// Builds the programs of the requested parts, as the format of the output holds them.
    func model(of source: any ModelSource) throws -> SourceModel {
        let model = try source.model(parts: parts, ignoredTensors: ignoredTensors, allowsIdlePatterns: false)
        return try format?.held(model) ?? model
    }

    /// Returns the samples, those of a text included.
    /// - Throws: `RequestError` if the model has no tokenizer, or takes no tokens.
    func samples(for model: SourceModel, of source: any ModelSource) throws -> SampleFile? {
        guard let sampleText else { return samples }
        return try SampleFile(
            sampleText.made(for: model.programs.map(\.interface), by: source.textFrontEnd()), of: sampleText.path)
    }

    /// Returns the recipe with the mix that it may have as rules for the weights of the functions.
    /// - Throws: `RequestError` if the family's modules are not those of the mix, or if a target chooses the schemes instead.
    fileprivate func resolvedRecipe(for functions: [FrozenProgram], of family: String) throws -> Recipe {
        guard let mix = recipe.mix else { return recipe }
        guard target == nil else {
            throw RequestError("\(mix.name) and a target both choose schemes for all weights: leave out one of them")
        }
        return try recipe.resolvingMix(in: recipe.plan(for: functions), of: family)
    }

    /// Returns the model with token logits for the requested positions.
    /// - Throws: `RequestError` if the model has none to leave out.
    fileprivate func choosingLogits(of model: SourceModel) throws -> SourceModel {
        if let model = try model.computing(logits) { return model }
        let parts = model.programs.map(\.name).joined(separator: ", ")
        throw RequestError(
            "\(self.model): logits of the \(logits.rawValue) position are for decoders that give logits over the vocabulary for "
                + "every token, and none of the parts to convert does (\(parts))", code: .noTokenLogits)
    }

    /// Freezes the model's parts to the requested shapes: every dimension becomes a number.
    /// - Throws: `RequestError` if the request has shapes and the model's functions have fixed ones.
    fileprivate func freezing(_ model: SourceModel) throws -> [FrozenProgram] {
        let parts = model.programs
        if let functions = model.functions {
            if takesUsualShapes { return functions }
            throw RequestError("\(self.model): its functions have shapes of their own", code: .fixedShapes)
        }
        if takesUsualShapes { return try parts.freezingToUsualShapes(all: takesAllUsualShapes) }
        let fitting = try shapeFiles.flatMap { path in
            try parts.bindings(fitting: try SafetensorsFile(path).tensors, file: path)
        }
        return try parts.freezing(shapes, fitting: fitting)
    }
}

extension Recipe {
    /// The recipe with the default `stored`.
    fileprivate init(keeping recipe: Recipe) {
        self = recipe
        if let stored = try? Codecs.codec(Codecs.keep) { (defaultCodec, mix) = (stored, nil) }
    }
}

extension Diagnostic.Code {
    /// Logits are left out of a model that has none for each token.
    package static let noTokenLogits: Self = "no-token-logits"
    /// Shapes are requested of functions that have fixed ones.
    package static let fixedShapes: Self = "fixed-shapes"
    package static let usualShapes: Self = "usual-shapes"
}
