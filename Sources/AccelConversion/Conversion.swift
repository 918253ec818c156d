import AccelByteIO
public import AccelCPURuntime
public import AccelCalibration
public import AccelFormats
import AccelModelFamilies
public import AccelPrograms
import AccelTensors
public import AccelWeightCompression

extension Recipe {
    /// The recipe with the default `stored`.
    fileprivate init(keeping recipe: Recipe) {
        self = recipe
        if let stored = try? Codecs.codec(Codecs.keep) { (defaultCodec, mix) = (stored, nil) }
    }
}

/// A conversion request: the model, its shapes, and the schemes of its weights.
///
///     var conversion = try Conversion(of: "models/all-MiniLM-L6-v2", compressedBy: "int8")
///     conversion.shapes = [ShapeBindings(["batch": 1, "sequence": 128])]
///     let package = try await conversion.run(to: .folder("minilm.accelpkg")).value
///
/// No file is read before the conversion runs; recipes and samples are values that the caller has read.
public struct Conversion: Sendable {
    /// A folder with config.json and *.safetensors, a .safetensors file, `hf:OWNER/NAME[@REV]`, or a model of any other format of
    /// `ModelFormats`, such as a package.
    public var model: String
    /// The path of a config.json: for a model that is a single file, or instead of the folder's own.
    public var configuration: String?
    /// The path of an `InterfaceFile`: roles for the ports of a model whose format has none.
    public var interfaceFile: String?
    /// Fields of config.json to ignore: `KEY`, or `FILE:KEY` for a field of another file.
    public var ignoredFields: [String] = []
    /// Adapters to merge into the model's weights before compression.
    public var adapters: [AdapterRequest] = []
    /// The parts of the model to convert; empty for all.
    public var parts: [String] = []
    /// Sizes for the free dimensions. Each element makes one function; all functions share the weights.
    public var shapes: [ShapeBindings] = []
    /// Paths of safetensors files; the shapes of their tensors make further functions. Without `shapes` and files the model's
    /// usual shapes are used.
    public var shapeFiles: [String] = []
    /// Without `shapes` and files: all usual shapes, such as batches and long texts, and not the default ones only.
    public var takesAllUsualShapes = false
    /// The positions of a block of tokens that decoders compute logits for.
    public var logits = LogitPositions.all
    /// The scheme of each weight.
    public var recipe: Recipe
    /// The path that the recipe was read from. Its statistics are looked up beside this file.
    public var recipeFile: String?
    /// The size or accuracy target for weights that no rule of the recipe matches. Needs samples.
    public var target: CompressionTarget?
    /// Calibration samples, for targets and for schemes that use activation statistics. The outputs of a package are measured over
    /// them, also where nothing else uses them.
    public var samples: SampleFile?
    /// A text that samples are made of, in place of samples.
    public var sampleText: TextSamples?
    /// The importance of columns, in place of samples, for schemes with `method=weighted`.
    public var importance: ImportanceMatrix?
    /// Patterns of tensor names that may stay unused. Sorted, without duplicates.
    public var ignoredTensors: [String] = [] {
        didSet { ignoredTensors = Set(ignoredTensors).sorted() }
    }
    /// The element type of key/value caches. A model without any is refused, unless this is float32.
    public var states = StateStorage.float32
    /// The package gets a numeric probe: inputs and samples of the outputs, by which backends are checked.
    public var hasProbe = false
    /// A model whose files have quantized weights keeps all weights as they are, in place of the recipe's default.
    public var keepsQuantized = false
    /// Turns warnings into errors: unused tensors, uncompressed matrices, recipe rules that match nothing.
    public var isStrict = false
    /// The format of an export; nil for a package.
    var format: (any Exporter.Type)?
    /// The device that the package is for: a package that would exceed the profile's limits is refused. It changes no byte of others.
    public var profile: DeviceProfile?
    /// All paths that the request writes, with their names in errors.
    package var outputs: [NamedPath] = []

    /// A conversion of a model with the schemes of a recipe.
    public init(of model: String, recipe: Recipe) { (self.model, self.recipe) = (model, recipe) }

    /// A conversion of a model with one scheme for all weights.
    /// - Parameter scheme: e.g. `palette:bits=4,group=16`, or a mix such as `q4_k_m`.
    /// - Throws: `RequestError` for an unknown scheme or option.
    public init(of model: String, compressedBy scheme: String = "float16") throws {
        self.init(of: model, recipe: try Recipe(scheme: scheme))
    }

    /// Opens the model, whatever its format.
    func source() throws -> any ModelSource {
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

    /// Returns the request with the recipe that the model gets, and its samples.
    func settled(for model: SourceModel, of source: any ModelSource) throws -> Conversion {
        var request = self
        request.samples = try samples(for: model, of: source)
        if keepsQuantized, !model.encoded.isEmpty { request.recipe = Recipe(keeping: recipe) }
        request.recipe.encoded = model.encoded.mapValues(\.codec)
        // Samples give statistics anew.
        if request.samples != nil { request.recipe.statistics = nil }
        return request
    }

    /// Whether nothing in the request depends on samples: a package is the same without them, and its outputs are measured over them.
    package var onlyMeasuresSamples: Bool {
        target == nil && !recipe.needsCalibration
            && !recipe.allActivations.contains(where: \.needsSamples)
    }

    /// Returns the recipe with the mix that it may have as rules for the weights of the functions.
    /// - Throws: `RequestError` if the family's modules are not those of the mix, or if a target chooses the schemes instead.
    func resolvedRecipe(for functions: [FrozenProgram], of family: String) throws -> Recipe {
        guard let mix = recipe.mix else { return recipe }
        guard target == nil else {
            throw RequestError("\(mix.name) and a target both choose schemes for all weights: leave out one of them")
        }
        return try recipe.resolvingMix(in: recipe.plan(for: functions), of: family)
    }

    /// Returns the model with token logits for the requested positions.
    /// - Throws: `RequestError` if the model has none to leave out.
    func choosingLogits(of model: SourceModel) throws -> SourceModel {
        if let model = try model.computing(logits) { return model }
        let parts = model.programs.map(\.name).joined(separator: ", ")
        throw RequestError(
            "\(self.model): --logits \(logits.rawValue) is for decoders that give logits over the vocabulary for every token, "
                + "and none of the parts to convert does (\(parts)): leave it out")
    }

    /// Whether the request has no shapes, so that the model's usual shapes are used.
    package var takesUsualShapes: Bool { shapes.isEmpty && shapeFiles.isEmpty }

    /// Freezes the model's parts to the requested shapes, with states of the requested type: every dimension becomes a
    /// number.
    /// - Throws: `RequestError` if the request has shapes and the model's functions have fixed ones, or if it has a type
    ///   of states and the model has no key/value cache.
    func freezing(_ model: SourceModel) throws -> [FrozenProgram] {
        try shaping(model).keepingCaches(in: states)
    }

    private func shaping(_ model: SourceModel) throws -> [FrozenProgram] {
        let parts = model.programs
        if let functions = model.functions {
            if takesUsualShapes { return functions }
            throw RequestError("\(self.model): its functions have shapes of their own: leave --shape out")
        }
        if takesUsualShapes { return try parts.freezingToUsualShapes(all: takesAllUsualShapes) }
        let fitting = try shapeFiles.flatMap { path in
            try parts.bindings(fitting: try SafetensorsFile(path).tensors, file: path)
        }
        return try parts.freezing(shapes, fitting: fitting)
    }

    /// Checks the recipe's rules, the coverage of the tensors, and the fields of the configuration.
    /// - Returns: the warnings.
    /// - Throws: an error for each warning if the request is strict.
    func check(_ source: SourceModel, _ plan: [PlannedWeight]) throws -> [String] {
        let idle = recipe.idleRules(in: plan).map { rule in
            FormatError(file: recipeFile ?? "the recipe", location: .field(rule.field), reason: rule.reason)
        }
        let unweighted = PackageCoverage.sentences(
            plan.filter { $0.lacksImportance && recipe.encoded[$0.source.name] == nil }.map { weight in
                let name = weight.choice.codec.name
                let remedy =
                    recipe.asked(by: weight.choice.rule).method == .weighted
                    ? "it tells nothing of this one, to which a rule may give another type, such as q4_k"
                    : "use \(name):method=weighted with --importance FILE or --calibrate FILE"
                return (
                    name: weight.source.name, reason: "ggml makes \(name) with an importance matrix only; \(remedy)"
                )
            }, "encoded as if all columns counted the same")
        let others = idleMethods(in: plan) + unweighted
        guard isStrict else { return idle.map(\.description) + others }
        let kept = plan.filter(\.source.shape.hasOutputChannels).compactMap { weight in
            weight.choice.reason.map { (name: weight.source.name, reason: $0) }
        }
        let reasons =
            PackageCoverage.sentences(kept, PackageCoverage.keptAsIs)
            + PackageCoverage.unfilled(plan.map { ($0.source.name, $0.source.shape, $0.choice.codec) })
        let left = PackageCoverage.sentences(
            source.unused.filter { !$0.isExpected }.map { (name: $0.name, reason: $0.reason) }, PackageCoverage.notUsed)
        var errors: [any ReportedError] = idle.map { error in
            var error = error
            error.reason += " (--strict)"
            error.exitStatus = .usage
            return error
        }
        errors += others.map { RequestError("\($0) (--strict)") }
        errors += reasons.map { RequestError("\(model): \($0); --strict refuses that") }
        errors += left.map {
            RequestError("\(model): \($0); --strict refuses that, unless --ignore-tensor names what is not used")
        }
        errors += source.undefinedFields.map {
            RequestError(
                "\(model), config.json, field \($0): the model's class does not define it; --strict refuses that, unless "
                    + "--ignore-config names it")
        }
        try Mistakes(errors).check()
        return []
    }

    /// Sentences on methods that the recipe names, and that no weight uses.
    private func idleMethods(in plan: [PlannedWeight]) -> [String] {
        let rules = recipe.rules.enumerated().map { (rule: Int?.some($0.offset), codec: $0.element.codec) }
        // A target chooses the schemes in place of the default.
        let schemes = (target == nil ? [(rule: nil, codec: recipe.defaultCodec)] : []) + rules
        return schemes.compactMap { rule, codec in
            let own = plan.filter { $0.choice.rule == rule }
            guard codec.method != .nearest, !own.contains(where: { $0.choice.codec.method == codec.method }) else {
                return nil
            }
            let matrices = own.filter(\.source.shape.hasOutputChannels)
            // Rules that no weight uses are idle as a whole.
            if rule != nil, matrices.isEmpty { return nil }
            let field = rule.map { "rules[\($0)].compress" } ?? "default"
            let place = recipeFile.map { "\($0), field \(field): " } ?? ""
            let method = "method=\(codec.method.rawValue)"
            guard let first = matrices.first else {
                return "\(place)no weight uses \(method): each matrix has a rule of its own"
            }
            let names = first.source.name + (matrices.count > 1 ? " and \(matrices.count - 1) more" : "")
            return
                "\(place)stored without \(method), as neither samples nor an importance matrix tell the inputs: \(names)"
        }
    }
}

extension PlannedWeight {
    /// Whether the codec wants to know the importance of columns, and it is not known.
    fileprivate var lacksImportance: Bool {
        guard let codec = choice.codec as? any GGMLCodec else { return false }
        return type(of: codec).needsImportance && codec.method != .weighted
    }
}
