import AccelByteIO
import AccelFormats
import AccelModelFamilies
public import AccelPrograms
import AccelTensors
public import AccelWeightCompression

/// A conversion as a value: a model, what is wanted of it, and how its weights are stored.
///
///     var conversion = try Conversion(of: "models/all-MiniLM-L6-v2", compressedBy: "int8")
///     conversion.shapes = [ShapeBindings(["batch": 1, "sequence": 128])]
///     let package = try await conversion.run(to: .folder("minilm.accelpkg")).value
///
/// Nothing is read before it runs, but for what is given as a value.
public struct Conversion: Sendable {
    /// A folder with config.json and *.safetensors, a .safetensors file, `hf:OWNER/NAME[@REV]`, or a model of any other format of
    /// `ModelFormats`, such as a package.
    public var model: String
    /// The path of a config.json, of a model that is a single file or in place of the folder's.
    public var configuration: String?
    /// The path of a JSON file with roles for the ports of a model whose format has none: `InterfaceFile`.
    public var interfaceFile: String?
    /// Fields of config.json that are read as if they were not there; `FILE:KEY` in another file.
    public var ignoredFields: [String] = []
    /// The parts of the model to convert; empty for all.
    public var parts: [String] = []
    /// Numbers for the free dimensions; each makes a function of its own, with the weights shared.
    public var shapes: [ShapeBindings] = []
    /// Paths of safetensors files whose inputs fit further functions. The model's usual shapes where neither is given.
    public var shapeFiles: [String] = []
    /// How each weight is stored.
    public var recipe: Recipe
    /// Where the recipe was read from: its statistics lie beside it.
    public var recipeFile: String?
    /// Chooses the schemes of the weights that no rule of the recipe fits. Needs samples.
    public var target: CompressionTarget?
    /// Sample inputs, for targets and for schemes with a method.
    public var samples: SampleFile?
    /// Patterns of tensors that may stay out of every function, whatever they are.
    public var ignoredTensors: [String] = [] {
        didSet { ignoredTensors = Set(ignoredTensors).sorted() }
    }
    /// Refuses what would be a warning: tensors that stay unused, matrices uncompressed, rules idle.
    public var isStrict = false
    /// All that is going to be written, as errors call it.
    package var outputs: [NamedPath] = []

    public init(of model: String, recipe: Recipe) { (self.model, self.recipe) = (model, recipe) }

    /// The same with one scheme for all weights.
    /// - Parameter scheme: e.g. `palette:bits=4,group=16`
    /// - Throws: `RequestError` for a scheme that there is not.
    public init(of model: String, compressedBy scheme: String = "float16") throws {
        self.init(of: model, recipe: Recipe(default: try Codecs.codec(scheme)))
    }

    /// Opens the model, whatever its format.
    func source() throws -> any ModelSource {
        try ModelFormats.open(
            model,
            OpeningOptions(
                configuration: configuration, ignoredFields: ignoredFields,
                interfaces: try interfaceFile.map { try InterfaceFile($0) }))
    }

    /// The source as programs, with the parts asked for.
    func model(of source: any ModelSource) throws -> SourceModel {
        try source.model(parts: parts, ignoredTensors: ignoredTensors, allowsIdlePatterns: false)
    }

    /// No shape is asked for: the model's usual ones are taken.
    package var takesUsualShapes: Bool { shapes.isEmpty && shapeFiles.isEmpty }

    /// The model's parts, with every dimension a number.
    /// - Throws: `RequestError` for shapes of a model that has settled its own.
    func freezing(_ model: SourceModel) throws -> [FrozenProgram] {
        let parts = model.programs
        if let functions = model.functions {
            if takesUsualShapes { return functions }
            throw RequestError("\(self.model): its functions have shapes of their own: leave --shape out")
        }
        if takesUsualShapes { return try parts.freezingToUsualShapes() }
        let fitting = try shapeFiles.flatMap { path in
            try parts.bindings(fitting: try SafetensorsFile(path).tensors, file: path)
        }
        return try parts.freezing(shapes + fitting)
    }

    /// Where it is strict, what would be a warning is an error.
    /// - Returns: what is a warning otherwise.
    func check(_ unused: [FamilyModel.UnusedTensor], _ plan: [PlannedWeight]) throws -> [String] {
        let idle = recipe.idleRules(in: plan).map { "\(recipeFile ?? "the recipe"), field \($0.field): \($0.reason)" }
        guard isStrict else { return idle }
        if let sentence = idle.first { throw RequestError("\(sentence) (--strict)") }
        let kept = plan.filter(\.source.shape.hasOutputChannels).compactMap { weight in
            weight.choice.reason.map { (name: weight.source.name, reason: $0) }
        }
        let objections =
            PackageCoverage.sentences(kept, PackageCoverage.keptAsIs)
            + PackageCoverage.sentences(
                unused.filter { !$0.isAskedFor }.map { (name: $0.name, reason: $0.reason) }, PackageCoverage.notUsed)
        guard let sentence = objections.first else { return [] }
        throw RequestError("\(model): \(sentence); --strict refuses that")
    }
}
