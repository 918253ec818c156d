import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// What a conversion was asked for. Every command that converts takes these options.
struct ConversionRequest {
    static let model = Positional(
        "MODEL",
        "a folder with config.json and *.safetensors, a .safetensors file with --config, or hf:OWNER/NAME[@REV]",
        takes: PathKind.models)
    static let configuration = Option(
        "config", .input("FILE"), "config.json of a MODEL that is a single file, or in place of the folder's",
        affectsOutput: true)
    static let ignoredFields = Option(
        "ignore-config", .text("KEY"),
        "read config.json as if it had no field KEY, for a field that is not known and changes nothing "
            + "(in another file: FILE:KEY)", isRepeatable: true, affectsOutput: true)
    static let parts = Option(
        "part", .text("NAME,.."), "the parts of the model to convert; all where this is left out",
        isRepeatable: true, affectsOutput: true)
    static let shape = Option(
        "shape", .text("DIM=N,.."),
        "numbers for the free dimensions; each one given makes a function of its own, with "
            + "the weights shared; the model's usual numbers where none is given", isRepeatable: true,
        affectsOutput: true)
    static let shapeFrom = Option(
        "shape-from", .input("FILE"), "numbers for the free dimensions so that the inputs in a safetensors file fit",
        isRepeatable: true, affectsOutput: true, takes: [.tensors])
    static let compress = Option(
        "compress", .text("SPEC"), "how weights are stored; see below", default: "float16", affectsOutput: true,
        excludes: ["recipe"])
    static let recipe = Option(
        "recipe", .input("FILE"), "a JSON file of rules for which weight is stored how (schemas/recipe.schema.json)",
        affectsOutput: true)
    static let strict = Option(
        "strict", .flag,
        "refuse, instead of warning, when a tensor stays unused, a matrix uncompressed, or a rule of the recipe idle")
    static let ignoredTensors = Option(
        "ignore-tensor", .text("GLOB"),
        "leave out tensors that no function reads, where that would be refused; packages say that they were",
        isRepeatable: true, affectsOutput: true)
    static let options =
        [
            parts, shape, shapeFrom, compress, recipe, ModelCalibration.calibrate, configuration, ignoredFields,
            ignoredTensors, strict,
        ]
        + BudgetRequest.options

    let model: String
    let configuration: String?
    let ignoredFields: [String]
    let parts: [String]
    let shapes: [ShapeBindings]
    let shapeFiles: [String]
    let recipe: Recipe
    /// Where the recipe was read from.
    let recipeFile: String?
    let budget: BudgetRequest?
    let samples: SampleFile?
    /// Patterns of tensors that may stay out of every function, whatever they are; sorted.
    let ignoredTensors: [String]
    let isStrict: Bool
    /// All that the command is going to write.
    let outputs: [NamedPath]

    init(_ arguments: Arguments) throws {
        model = try arguments.required(Self.model)
        configuration = arguments[Self.configuration]
        ignoredFields = arguments.all(Self.ignoredFields)
        parts = arguments.all(Self.parts).flatMap { $0.split(separator: ",").map(String.init) }
        shapes = try arguments.all(Self.shape).map { try ShapeBindings(parsing: $0) }
        shapeFiles = arguments.all(Self.shapeFrom)
        budget = try BudgetRequest(arguments)
        let recipe = try Self.recipe(arguments)
        self.recipe = budget != nil && arguments[Self.recipe] == nil ? try BudgetRequest.freeRecipe() : recipe
        recipeFile = arguments[Self.recipe]
        samples = try arguments[ModelCalibration.calibrate].map(SampleFile.init)
        ignoredTensors = Set(arguments.all(Self.ignoredTensors)).sorted()
        isStrict = arguments.has(Self.strict)
        outputs = arguments.outputs
    }

    private static func recipe(_ arguments: Arguments) throws -> Recipe {
        if let path = arguments[recipe] { return try Recipe(JSONField(try JSON.read(path), file: path)) }
        return Recipe(default: try Codecs.codec(try arguments.required(compress)))
    }

    /// Opens the model.
    func checkpoint() throws -> Checkpoint {
        try Checkpoint(model: model, configuration: configuration).ignoring(ignoredFields)
    }

    /// The checkpoint as its family's programs, with the parts asked for.
    func model(of checkpoint: Checkpoint, by family: any ModelFamily) throws -> FamilyModel {
        try family.model(for: checkpoint, parts: parts, ignoredTensors: ignoredTensors)
    }

    /// No shape is asked for: the model's usual ones are taken.
    var takesUsualShapes: Bool { shapes.isEmpty && shapeFiles.isEmpty }

    /// The model's parts, with every dimension a number.
    func freezing(_ parts: [Program]) throws -> [FrozenProgram] {
        if takesUsualShapes { return try parts.freezingToUsualShapes() }
        let fitting = try shapeFiles.flatMap { path in
            try parts.bindings(fitting: try SafetensorsFile(path).tensors, file: path)
        }
        return try parts.freezing(shapes + fitting)
    }

    /// `--strict`: what would be a warning is an error.
    /// - Returns: what is a warning without.
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

extension Checkpoint {
    /// Opens a model as the options of a command say.
    init(model: String, _ arguments: Arguments) throws {
        self = try Checkpoint(model: model, configuration: arguments[ConversionRequest.configuration])
            .ignoring(arguments.all(ConversionRequest.ignoredFields))
    }
}
