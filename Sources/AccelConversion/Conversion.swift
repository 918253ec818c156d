import AccelByteIO
public import AccelCPURuntime
public import AccelCalibration
public import AccelFormats
public import AccelPrograms
public import AccelWeightCompression

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
    /// The parts of the model to convert; empty for the usual ones, and `FamilyModel.everyPart` alone for all.
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
    /// The most bytes of values of samples in memory, beyond which a file has them; nil for a quarter of the machine's, at most 512 MiB.
    /// Results do not depend on it.
    public var sampleMemory: Int?
    /// The importance of columns, in place of samples, for schemes with `method=weighted`.
    public var importance: ImportanceMatrix?
    /// Patterns of tensor names that may stay unused. Sorted, without duplicates.
    public var ignoredTensors: [String] = [] {
        didSet { ignoredTensors = Set(ignoredTensors).sorted() }
    }
    /// The element type of key/value caches. A model without any is rejected, unless this is float32.
    public var states = StateStorage.float32
    /// The package gets a numeric probe: inputs and samples of the outputs, by which backends are checked.
    public var hasProbe = false
    /// A model whose files have quantized weights keeps all weights as they are, in place of the recipe's default.
    public var keepsQuantized = false
    /// Turns warnings into errors: unused tensors, uncompressed matrices, recipe rules that match nothing.
    public var isStrict = false
    /// The format of an export; nil for a package.
    var format: (any Exporter.Type)?
    /// The device that the package is for: a package that would exceed the profile's limits is rejected. It changes no byte of others.
    public var profile: DeviceProfile?
    /// All paths that the request writes, with their names in errors.
    package var outputs: [NamedPath] = []
    /// The table of choices that cache keys and errors are made from.
    package var choices = ConversionChoice.all

    /// A conversion of a model with the schemes of a recipe.
    public init(of model: String, recipe: Recipe) { (self.model, self.recipe) = (model, recipe) }

    /// A conversion of a model with one scheme for all weights.
    /// - Parameter scheme: e.g. `palette:bits=4,group=16`, or a mix such as `q4_k_m`.
    /// - Throws: `RequestError` for an unknown scheme or option.
    public init(of model: String, compressedBy scheme: String = "float16") throws {
        self.init(of: model, recipe: try Recipe(scheme: scheme))
    }

    /// Whether nothing in the request depends on samples: a package is the same without them, and its outputs are measured over them.
    package var onlyMeasuresSamples: Bool {
        target == nil && !recipe.needsCalibration
            && !recipe.allActivations.contains(where: \.needsSamples)
    }

    /// Whether the request has no shapes, so that the model's usual shapes are used.
    package var takesUsualShapes: Bool { shapes.isEmpty && shapeFiles.isEmpty }
}
