import AccelByteIO
import AccelCalibration
import AccelConversion
import AccelFormats
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The options of a conversion. Every command that converts takes them.
enum ConversionArguments {
    static let model = Positional(
        "MODEL",
        "a folder with config.json and *.safetensors, a .safetensors file with --config, a .gguf file, "
            + "hf:OWNER/NAME[@REV][:FILE], a package, or a Core ML package",
        takes: PathKind.models)
    static let configuration = Option(
        "config", .input("FILE"), "config.json of a MODEL that is a single file, or in place of the folder's",
        affectsOutput: true)
    static let ignoredFields = Option(
        "ignore-config", .text("KEY"),
        "read config.json as if it had no field KEY, for a field that is not known and changes nothing "
            + "(in another file: FILE:KEY)", isRepeatable: true, affectsOutput: true)
    static let adapter = Option(
        "adapter", .input("DIR[:WEIGHT]"),
        "merge an adapter (LoRA, as peft saves it) into the weights before they are compressed; the changes of several are "
            + "added up, each times its weight (default: 1)", isRepeatable: true, affectsOutput: true)
    static let parts = Option(
        "part", .text("NAME,.."), "the parts of the model to convert; all where this is left out",
        isRepeatable: true, affectsOutput: true)
    static let shape = Option(
        "shape", .text("DIM=N,.."),
        "a number for each free dimension of a part; each --shape makes a function of its own, with "
            + "the weights shared; without --shape and --shape-from the model's usual numbers", isRepeatable: true,
        affectsOutput: true)
    static let shapeFrom = Option(
        "shape-from", .input("FILE"),
        "numbers for the free dimensions so that the inputs in a safetensors file fit; --shape gives those that the file leaves open",
        isRepeatable: true, affectsOutput: true, takes: [.tensors])
    static let compress = Option(
        "compress", .text("SPEC"),
        "how weights are stored, by a scheme that the end of accelc convert --help lists; keep, which is the default of convert for "
            + "a model that is quantized already, stores "
            + "all weights as its files have them (default: float16)", affectsOutput: true,
        excludes: ["recipe"])
    static let recipe = Option(
        "recipe", .input("FILE"),
        "a JSON file of rules for which weight is stored how (\(CommonOptions.schema("recipe")))",
        affectsOutput: true)
    static let activations = Option(
        "activations", .text("SPEC"),
        "how activations are rounded before they are multiplied with weights: none; bfloat16 rounds both factors to "
            + "bfloat16, which is faster on processors with such products; int8 rounds each row (a token) to 8 bits "
            + "in each run, which is faster with weights of int8, int4 or affine and loses some accuracy; int8:static "
            + "rounds all rows to one range, which the samples of --calibrate fix; int8:smooth=ALPHA, also "
            + "int8:static,smooth=ALPHA, first divides channels that are large in the samples, and multiplies columns of "
            + "weights, where the graph allows it (SmoothQuant; ALPHA 0.5 if left out) (default: the recipe's, else none)",
        affectsOutput: true)
    static let calibrate = Option(
        "calibrate", .input("FILE"),
        "sample inputs, for targets, for schemes with method=weighted, gptq or awq and for activations with static or smooth: "
            + "a safetensors file with a tensor for each input by its name, such as input_ids [samples, length], all samples in "
            + "one tensor; attention_mask is 0 at padding; outputs of packages are measured over it. Or a text (.txt, .md, .jsonl with "
            + "text or messages), of which the model's tokenizer makes samples",
        affectsOutput: true,
        takes: [.tensors])
    static let sampleCount = Option(
        "samples", .integer(1...1_000_000), "the most samples of a text", default: "\(TextSamples.defaultCount)",
        affectsOutput: true)
    static let sampleLength = Option(
        "sample-length", .integer(2...1_000_000), "the most tokens of a text's sample",
        default: "\(TextSamples.defaultLength)", affectsOutput: true)
    static let importance = Option(
        "importance", .input("FILE"),
        "an importance matrix of llama.cpp (GGUF or .dat), in place of samples, for schemes with method=weighted",
        affectsOutput: true)
    static let strict = Option(
        "strict", .flag,
        "refuse, instead of warning, when a tensor stays unused that neither --part nor --ignore-tensor leaves out (but "
            + "for numbers of positions, and counters of training), a matrix uncompressed, or a rule of the recipe idle"
    )
    static let ignoredTensors = Option(
        "ignore-tensor", .text("GLOB"),
        "leave out tensors that no function reads, where that would be refused; packages say that they were",
        isRepeatable: true, affectsOutput: true)
    static let logits = Option(
        "logits", .words(LogitPositions.allCases.map(\.rawValue)),
        "the positions of a block of tokens that a decoder gives logits for: last is enough to generate text, and saves "
            + "the head's work on the others", default: LogitPositions.all.rawValue, affectsOutput: true,
        otherWords: OtherWords.logits)
    static let interface = Option(
        "interface", .input("FILE"),
        "roles of the ports of a Core ML package that names none, by function (\(CommonOptions.schema("interface")))",
        affectsOutput: true)
    static let states = Option(
        "states", .words(StateStorage.allCases.map(\.rawValue)),
        "the element type of key/value caches; float16 halves their memory, int8 takes a byte a number and 4 a row for its "
            + "scale; keys and values are rounded where they are written", default: StateStorage.float32.rawValue,
        affectsOutput: true, otherWords: OtherWords.states)
    static let options =
        [
            adapter, parts, shape, shapeFrom, logits, compress, recipe, activations, calibrate,
            sampleCount.needing([.option("calibrate")]), sampleLength.needing([.option("calibrate")]), importance,
            states,
            configuration,
            ignoredFields, ignoredTensors, interface, strict,
        ]
        + TargetArguments.options

    /// Returns the conversion that the command line requests.
    static func conversion(_ arguments: Arguments) throws -> Conversion {
        var conversion = Conversion(of: try arguments.required(model), recipe: try recipe(arguments))
        conversion.keepsQuantized = arguments[recipe] == nil && arguments[compress] == nil
        conversion.configuration = arguments[configuration]
        conversion.ignoredFields = arguments.all(ignoredFields)
        conversion.adapters = try arguments.adapters
        conversion.interfaceFile = arguments[interface]
        conversion.parts = arguments.all(parts).flatMap { $0.split(separator: ",").map(String.init) }
        conversion.shapes = try arguments.all(shape).map { try ShapeBindings(parsing: $0) }
        conversion.shapeFiles = arguments.all(shapeFrom)
        conversion.logits = arguments[logits].flatMap(LogitPositions.init) ?? .all
        conversion.target = try TargetArguments.target(arguments)
        if conversion.target != nil, arguments[recipe] == nil { conversion.recipe = try CompressionTarget.freeRecipe() }
        if let text = arguments[activations] { conversion.recipe.activations = try ActivationQuantization(text) }
        conversion.recipeFile = arguments[recipe]
        try conversion.takeSamples(calibrate, arguments)
        conversion.importance = try arguments[importance].map { try ImportanceMatrix($0) }
        conversion.ignoredTensors = arguments.all(ignoredTensors)
        conversion.states = arguments[states].flatMap(StateStorage.init) ?? .float32
        conversion.isStrict = arguments.has(strict)
        conversion.outputs = arguments.outputs
        return conversion
    }

    private static func recipe(_ arguments: Arguments) throws -> Recipe {
        if let path = arguments[recipe] {
            guard Files.kind(of: path) != nil || (try? Codecs.codec(path)) == nil else {
                throw RequestError("--recipe \(path): there is no such file, but a scheme: --compress \(path)")
            }
            let inside = "\(Files.trimmingSlashes(path))/\(SolvedTarget.recipeName)"
            guard Files.kind(of: path) != .folder || Files.kind(of: inside) != .file else {
                throw RequestError(
                    "--recipe \(path): this is a folder, with a recipe in it: --recipe \(shellWord(inside))")
            }
            let hasTarget = try TargetArguments.target(arguments) != nil
            return try FormatError.ofRequest {
                let document = try JSON.read(path)
                return try Recipe(
                    JSONField(hasTarget ? TargetArguments.completed(document) : document, file: path))
            }
        }
        if let file = arguments[compress], Files.kind(of: file) == .file {
            throw RequestError("--compress \(file): this is a file, and no scheme: --recipe \(file)")
        }
        return try Recipe(scheme: arguments[compress] ?? "float16")
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
            + "\nor a mix of the types of llama.cpp, for its architectures:\n"
            + HelpPage.table([("", GGMLMix.all.map(\.name).joined(separator: ", "))])
    }
}

extension Conversion {
    /// Takes the samples of a file, or the text that they are made of.
    mutating func takeSamples(_ option: Option, _ arguments: Arguments) throws {
        guard let path = arguments[option] else { return }
        sampleText = try arguments.textSamples(path)
        if sampleText == nil { samples = try SampleFile(path) }
    }
}

extension Arguments {
    /// The samples of a text; nil for a file of tensors.
    /// - Throws: `RequestError` for options of samples without a text.
    func textSamples(_ path: String) throws -> TextSamples? {
        guard TextSamples.recognises(path) else {
            try refuse(
                [ConversionArguments.sampleCount, ConversionArguments.sampleLength], "\(path) has its own samples",
                for: "texts")
            return nil
        }
        return try TextSamples(
            path, count: integer(ConversionArguments.sampleCount) ?? TextSamples.defaultCount,
            length: integer(ConversionArguments.sampleLength) ?? TextSamples.defaultLength)
    }

    /// The adapters to merge.
    /// - Throws: `RequestError` for a weight that is not valid.
    var adapters: [AdapterRequest] {
        get throws { try all(ConversionArguments.adapter).map { try AdapterRequest(parsing: $0) } }
    }

    /// The options for opening the command's model.
    /// - Throws: `FormatError` if the interface file is invalid.
    var opening: OpeningOptions {
        get throws {
            OpeningOptions(
                configuration: self[ConversionArguments.configuration],
                ignoredFields: all(ConversionArguments.ignoredFields), adapters: try adapters,
                interfaces: try self[ConversionArguments.interface].map { try InterfaceFile($0) })
        }
    }
}
