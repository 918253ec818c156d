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
        "config", .input("FILE"), "config.json of a MODEL that is a single file, or in place of the folder's"
    ).setting(.configuration) { $0.configuration = $1[$2] }
    static let ignoredFields = Option(
        "ignore-config", .text("KEY"),
        "read config.json as if it had no field KEY, for a field that is not known and changes nothing "
            + "(in another file: FILE:KEY)", isRepeatable: true
    ).setting(.ignoredFields) { $0.ignoredFields = $1.all($2) }
    static let adapter = Option(
        "adapter", .input("DIR[:WEIGHT]"),
        "merge an adapter (LoRA, as peft saves it) into the weights before they are compressed; the changes of several are "
            + "added up, each times its weight (default: 1)", isRepeatable: true
    ).setting(.adapters) { request, arguments, _ in request.adapters = try arguments.adapters }
    static let parts = Option(
        "part", .text("NAME,.."), "the parts of the model to convert; all where this is left out",
        isRepeatable: true
    ).setting(.parts) { $0.parts = $1.all($2).flatMap { $0.split(separator: ",").map(String.init) } }
    static let shape = Option(
        "shape", .text("DIM=N,.."),
        "a number for each free dimension of a part; each --shape makes a function of its own, with "
            + "the weights shared; without --shape and --shape-from the model's usual numbers", isRepeatable: true
    ).setting(.shapes) { $0.shapes = try $1.all($2).map { try ShapeBindings(parsing: $0) } }
    static let shapeFrom = Option(
        "shape-from", .input("FILE"),
        "numbers for the free dimensions so that the inputs in a safetensors file fit; --shape gives those that the file leaves open",
        isRepeatable: true, takes: [.tensors]
    ).setting(.shapes) { $0.shapeFiles = $1.all($2) }
    static let compress = Option(
        "compress", .text("SPEC"),
        "how weights are stored, by a scheme that the end of accelc convert --help lists; keep, which is the default of convert for "
            + "a model that is quantized already, stores "
            + "all weights as its files have them (default: float16)", excludes: ["recipe"]
    ).setting(.schemes) { request, arguments, option in
        let scheme = try arguments.required(option)
        guard Files.kind(of: scheme) != .file else {
            throw RequestError("--compress \(scheme): this is a file, and no scheme: --recipe \(scheme)")
        }
        (request.recipe, request.keepsQuantized) = (try Recipe(scheme: scheme), false)
    }
    static let recipe = Option(
        "recipe", .input("FILE"),
        "a JSON file of rules for which weight is stored how (\(CommonOptions.schema("recipe")))"
    ).setting(.schemes) { request, arguments, option in
        let path = try arguments.required(option)
        (request.recipe, request.recipeFile) = (try recipe(in: path, arguments), path)
        request.keepsQuantized = false
    }
    static let activations = Option(
        "activations", .text("SPEC"),
        "how activations are rounded before they are multiplied with weights: none; bfloat16 rounds both factors to "
            + "bfloat16, which is faster on processors with such products; int8 rounds each row (a token) to 8 bits "
            + "in each run, which is faster with weights of int8, int4 or affine and loses some accuracy; int8:static "
            + "rounds all rows to one range, which the samples of --calibrate fix; int8:smooth=ALPHA, also "
            + "int8:static,smooth=ALPHA, first divides channels that are large in the samples, and multiplies columns of "
            + "weights, where the graph allows it (SmoothQuant; ALPHA 0.5 if left out) (default: the recipe's, else none)"
    ).setting(.schemes) { $0.recipe.activations = try ActivationQuantization($1.required($2)) }
    static let calibrate = Option(
        "calibrate", .input("FILE"),
        "sample inputs, for targets, for schemes with method=weighted, gptq or awq and for activations with static or smooth: "
            + "a safetensors file with a tensor for each input by its name, such as input_ids [samples, length], all samples in "
            + "one tensor; attention_mask is 0 at padding; outputs of packages are measured over it. Or a text (.txt, .md, .jsonl with "
            + "text or messages), of which the model's tokenizer makes samples",
        takes: [.tensors]
    ).setting(.samples) { try $0.takeSamples($2, $1) }
    static let sampleCount = Option(
        "samples", .integer(1...1_000_000), "the most samples of a text", default: "\(TextSamples.defaultCount)",
        needs: [.option("calibrate")]
    ).setting(.samples)
    static let sampleLength = Option(
        "sample-length", .integer(2...1_000_000), "the most tokens of a text's sample",
        default: "\(TextSamples.defaultLength)", needs: [.option("calibrate")]
    ).setting(.samples)
    static let importance = Option(
        "importance", .input("FILE"),
        "an importance matrix of llama.cpp (GGUF or .dat), in place of samples, for schemes with method=weighted"
    ).setting(.importance) { $0.importance = try ImportanceMatrix($1.required($2)) }
    static let strict = Option(
        "strict", .flag,
        "refuse, instead of warning, when a tensor stays unused that neither --part nor --ignore-tensor leaves out (but "
            + "for numbers of positions, and counters of training), a matrix uncompressed, or a rule of the recipe idle"
    ).setting(nil) { request, _, _ in request.isStrict = true }
    static let ignoredTensors = Option(
        "ignore-tensor", .text("GLOB"),
        "leave out tensors that no function reads, where that would be refused; packages say that they were",
        isRepeatable: true
    ).setting(.ignoredTensors) { $0.ignoredTensors = $1.all($2) }
    static let logits = Option(
        "logits", .words(LogitPositions.allCases.map(\.rawValue)),
        "the positions of a block of tokens that a decoder gives logits for: last is enough to generate text, and saves "
            + "the head's work on the others", default: LogitPositions.all.rawValue
    ).setting(.logits) { $0.logits = $1[$2].flatMap(LogitPositions.init) ?? .all }
    static let interface = Option(
        "interface", .input("FILE"),
        "roles of the ports of a Core ML package that names none, by function (\(CommonOptions.schema("interface")))"
    ).setting(.interface) { $0.interfaceFile = $1[$2] }
    static let states = Option(
        "states", .words(StateStorage.allCases.map(\.rawValue)),
        "the element type of key/value caches; float16 halves their memory, int8 takes a byte a number and 4 a row for its "
            + "scale; keys and values are rounded where they are written", default: StateStorage.float32.rawValue
    ).setting(.states) { $0.states = $1[$2].flatMap(StateStorage.init) ?? .float32 }

    /// The table, in the order of help pages.
    static let all =
        [
            adapter, parts, shape, shapeFrom, logits, compress, recipe, activations, calibrate, sampleCount,
            sampleLength, importance, states, configuration, ignoredFields, ignoredTensors, interface, strict,
        ] + TargetArguments.all
    static let options = all.map(\.option)

    /// Returns the conversion that the command line requests.
    /// - Parameter rows: the options that the command has.
    static func conversion(_ arguments: Arguments, rows: [ConversionOption] = all) throws -> Conversion {
        var conversion = Conversion(of: try arguments.required(model), recipe: try Recipe(scheme: "float16"))
        conversion.keepsQuantized = true
        for row in rows where arguments.has(row.option) { try row.set(&conversion, arguments, row.option) }
        for choice in rows.compactMap(\.choice) { conversion.add(choice) }
        conversion.outputs = arguments.outputs
        return conversion
    }

    /// Reads the recipe of a file.
    private static func recipe(in path: String, _ arguments: Arguments) throws -> Recipe {
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
            return try Recipe(JSONField(hasTarget ? TargetArguments.completed(document) : document, file: path))
        }
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
                [ConversionArguments.sampleCount.option, ConversionArguments.sampleLength.option],
                "\(path) has its own samples",
                for: "texts")
            return nil
        }
        return try TextSamples(
            path, count: integer(ConversionArguments.sampleCount.option) ?? TextSamples.defaultCount,
            length: integer(ConversionArguments.sampleLength.option) ?? TextSamples.defaultLength)
    }

    /// The adapters to merge.
    /// - Throws: `RequestError` for a weight that is not valid.
    var adapters: [AdapterRequest] {
        get throws { try all(ConversionArguments.adapter.option).map { try AdapterRequest(parsing: $0) } }
    }

    /// The options for opening the command's model.
    /// - Throws: `FormatError` if the interface file is invalid.
    var opening: OpeningOptions {
        get throws {
            OpeningOptions(
                configuration: self[ConversionArguments.configuration.option],
                ignoredFields: all(ConversionArguments.ignoredFields.option), adapters: try adapters,
                interfaces: try self[ConversionArguments.interface.option].map { try InterfaceFile($0) })
        }
    }
}
