import ByteIO
import ModelFamilies
import Programs
import Tensors
import WeightCompression

/// What a conversion was asked for. Every command that converts takes these options.
struct ConversionRequest {
    static let model = Positional(
        "MODEL",
        "a folder with config.json and *.safetensors, a .safetensors file with --config, or hf:OWNER/NAME[@REV]")
    static let configuration = Option(
        "config", .file("FILE"), "config.json of a MODEL that is a single file", affectsOutput: true)
    static let parts = Option(
        "part", .text("NAME,.."), "the parts of the model to convert; all where this is left out",
        isRepeatable: true, affectsOutput: true)
    static let shape = Option(
        "shape", .text("DIM=N,.."),
        "numbers for the free dimensions; each one given makes a function of its own, with "
            + "the weights shared", isRepeatable: true, affectsOutput: true)
    static let shapeFrom = Option(
        "shape-from", .file("FILE"), "numbers for the free dimensions so that the inputs in a safetensors file fit",
        isRepeatable: true, affectsOutput: true)
    static let compress = Option(
        "compress", .text("SPEC"), "how weights are stored; see below", default: "float16", affectsOutput: true,
        excludes: ["recipe"])
    static let recipe = Option(
        "recipe", .file("FILE"), "a JSON file of rules for which weight is stored how (schemas/recipe.schema.json)",
        affectsOutput: true)
    static let strict = Option(
        "strict", .flag, "refuse, instead of warning, when a tensor stays unused or a weight uncompressed")
    static let options =
        [parts, shape, shapeFrom, compress, recipe, ModelCalibration.calibrate, configuration, strict]
        + BudgetRequest.options

    let model: String
    let configuration: String?
    let parts: [String]
    let shapes: [ShapeBindings]
    let shapeFiles: [String]
    let recipe: Recipe
    /// Where the recipe was read from.
    let recipeFile: String?
    let budget: BudgetRequest?
    /// A file of sample inputs.
    let samples: String?
    let isStrict: Bool

    init(_ arguments: Arguments) throws {
        model = try arguments.required(Self.model)
        configuration = arguments[Self.configuration]
        parts = arguments.all(Self.parts).flatMap { $0.split(separator: ",").map(String.init) }
        shapes = try arguments.all(Self.shape).map { try ShapeBindings(parsing: $0) }
        shapeFiles = arguments.all(Self.shapeFrom)
        budget = try BudgetRequest(arguments)
        let recipe = try Self.recipe(arguments)
        // A target on its own chooses for all weights.
        let isFree = budget != nil && arguments[Self.recipe] == nil && !recipe.defaultCodec.hasMethod
        self.recipe = isFree ? Recipe(default: try Codecs.codec("palette:bits=4")) : recipe
        recipeFile = arguments[Self.recipe]
        samples = arguments[ModelCalibration.calibrate]
        isStrict = arguments.has(Self.strict)
    }

    private static func recipe(_ arguments: Arguments) throws -> Recipe {
        if let path = arguments[recipe] { return try Recipe(JSONField(try JSON.read(path), file: path)) }
        return Recipe(default: try Codecs.codec(try arguments.required(compress)))
    }

    /// The model's parts, with every dimension a number.
    func freezing(_ parts: [Program]) throws -> [FrozenProgram] {
        let fitting = try shapeFiles.flatMap { path in
            try parts.bindings(fitting: try SafetensorsFile(path).tensors, file: path)
        }
        return try parts.freezing(shapes + fitting)
    }

    /// `--strict`: what would be a warning is an error.
    func check(_ unused: [FamilyModel.UnusedTensor], _ plan: [PlannedWeight]) throws {
        guard isStrict else { return }
        let kept = plan.compactMap { weight in weight.choice.reason.map { (name: weight.source.name, reason: $0) } }
        let objections =
            PackageCoverage.sentences(kept, PackageCoverage.keptAsIs)
            + PackageCoverage.sentences(unused.map { (name: $0.name, reason: $0.reason) }, PackageCoverage.notUsed)
        guard let sentence = objections.first else { return }
        throw RequestError("\(model): \(sentence); --strict refuses that")
    }

    /// The codecs and their options, for help.
    static var schemes: String {
        let rows = Codecs.all.flatMap { codec in
            [("  \(codec.name)\(codec.takesInner ? "+SPEC" : "")", "")]
                + codec.options.filter { !$0.isFilledIn }.map { option in
                    let values = option.allowed + (option.free.map { [$0.placeholder] } ?? [])
                    return (
                        "    \(option.name)=\(values.joined(separator: "|"))",
                        "\(option.help) (default: \(option.defaultValue))"
                    )
                }
        }
        return "SPEC is a scheme with options, as in palette:bits=4,group=16:\n" + HelpPage.table(rows)
    }
}
