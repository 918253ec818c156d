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
        "a folder with config.json and *.safetensors, a .gguf file, or hf:OWNER/NAME. Also hf:OWNER/NAME@REVISION:FILE, a "
            + ".safetensors file with --config, a package, or a Core ML package",
        takes: PathKind.models)
    static let configuration = Option(
        "config", .input("FILE"), in: .input,
        "the config.json of a model that is a single file. For a folder it replaces the folder's own"
    ).setting(.configuration) { $0.configuration = $1[$2] }
    static let ignoredFields = Option(
        "ignore-config", .text("KEY"), in: .input,
        "ignore an unknown field of config.json that changes no result. FILE:KEY ignores a field of another file",
        isRepeatable: true
    ).setting(.ignoredFields) { $0.ignoredFields = $1.all($2) }
    static let adapter = Option(
        "adapter", .input("DIR[:WEIGHT]"), in: .input,
        "merge a LoRA adapter of peft into the weights before compression. WEIGHT scales the adapter's changes (default: 1); "
            + "the changes of several adapters are added", isCommon: true, isRepeatable: true
    ).setting(.adapters) { request, arguments, _ in request.adapters = try arguments.adapters }
    static let parts = Option(
        "part", .text("NAME,.."), in: .shapes,
        "the parts of the model to convert (default: the usual ones). all takes every part; \"accelc families\" lists those of each family",
        isRepeatable: true
    ).setting(.parts) { $0.parts = $1.all($2).flatMap { $0.split(separator: ",").map(String.init) } }
    static let shape = Option(
        "shape", .text("DIM=N,.."), in: .shapes,
        "sizes of the free dimensions (default: the model's usual sizes). Each --shape makes one function; all functions "
            + "share the weights", isCommon: true, isRepeatable: true
    ).setting(.shapes) { $0.shapes = try $1.all($2).map { try ShapeBindings(parsing: $0) } }
    static let shapeFrom = Option(
        "shape-from", .input("FILE"), in: .shapes,
        "take the sizes from the inputs in a safetensors file. --shape gives the sizes of dimensions that the file does not have",
        isRepeatable: true, takes: [.tensors]
    ).setting(.shapes) { $0.shapeFiles = $1.all($2) }
    static let compress = Option(
        "compress", .text("SPEC"), in: .compression,
        "the scheme of all weights, such as int8, int4:block=32 or q4_k_m. \"accelc convert --help-all\" lists the schemes; keep "
            + "preserves the codes of a model that is quantized already (default: float16; for a quantized model keep)",
        isCommon: true, excludes: ["recipe"]
    ).setting(.schemes) { request, arguments, option in
        let scheme = try arguments.required(option)
        guard Files.kind(of: scheme) != .file else {
            throw RequestError("--compress \(scheme): this is a file, and no scheme: --recipe \(scheme)")
        }
        (request.recipe, request.keepsQuantized) = (try Recipe(scheme: scheme), false)
    }
    static let recipe = Option(
        "recipe", .input("FILE"), in: .compression,
        "a JSON file of rules that give weights schemes of their own. Its schema is \(CommonOptions.schema("recipe"))",
        isCommon: true
    ).setting(.schemes) { request, arguments, option in
        let path = try arguments.required(option)
        (request.recipe, request.recipeFile) = (try recipe(in: path, arguments), path)
        request.keepsQuantized = false
    }
    static let activations = Option(
        "activations", .text("SPEC"), in: .compression,
        "quantize activations before matrix products: none, bfloat16 or int8. bfloat16 rounds both factors, which is faster on "
            + "processors with bfloat16 products. int8 quantizes each row (token) in each run, which is faster with weights of "
            + "int8, int4 or affine and loses some accuracy. int8:static uses one range for all rows, measured on the samples of "
            + "--calibrate. int8:smooth=ALPHA and int8:static,smooth=ALPHA divide channels that are large in the samples and "
            + "multiply the columns of weights, where the graph allows it (SmoothQuant; ALPHA is 0.5 by default) "
            + "(default: the recipe's, else none)"
    ).setting(.schemes) { $0.recipe.activations = try ActivationQuantization($1.required($2)) }
    static let calibrate = Option(
        "calibrate", .input("FILE"), in: .calibration,
        "calibration data: a text, or a safetensors file of inputs. Targets need it, and schemes with method=weighted, gptq or "
            + "awq, and activations with static or smooth. A text (.txt, .md, or .jsonl with text or messages) is tokenized by the "
            + "model's tokenizer. A safetensors file has a tensor for each input by its name, such as input_ids [samples, length]; "
            + "attention_mask is 0 at padding. The outputs of a new package are measured on the same data",
        isCommon: true, takes: [.tensors]
    ).setting(.samples) { try $0.takeSamples($2, $1) }
    static let sampleCount = Option(
        "samples", .integer(1...1_000_000), in: .calibration, "the most samples that a text is split into",
        default: "\(TextSamples.defaultCount)",
        needs: [.option("calibrate")]
    ).setting(.samples)
    static let sampleLength = Option(
        "sample-length", .integer(2...1_000_000), in: .calibration, "the most tokens of a sample of a text",
        default: "\(TextSamples.defaultLength)", needs: [.option("calibrate")]
    ).setting(.samples)
    static let memory = Option(
        "memory", .text("SIZE"), in: .calibration,
        "the most memory for values of samples, e.g. 512MB. A temporary file has the rest (default: a quarter of the machine's, "
            + "at most 512MiB)", needs: [.option("calibrate")]
    ).setting(nil) { $0.sampleMemory = try $1.bytes($2) }
    static let importance = Option(
        "importance", .input("FILE"), in: .calibration,
        "an importance matrix of llama.cpp (GGUF or .dat). It replaces calibration data for schemes with method=weighted"
    ).setting(.importance) { $0.importance = try ImportanceMatrix($1.required($2)) }
    static let strict = Option(
        "strict", .flag, in: .compression,
        "fail where a conversion only warns. It fails if a tensor is unused that neither --part nor --ignore-tensor leaves out "
            + "(position indices and training counters do not count), if a matrix stays uncompressed, or if a rule of the "
            + "recipe applies to no weight"
    ).setting(nil) { request, _, _ in request.isStrict = true }
    static let ignoredTensors = Option(
        "ignore-tensor", .text("GLOB"), in: .input,
        "leave out tensors that no function reads. Without it some unused tensors are an error. A package records their names",
        isRepeatable: true
    ).setting(.ignoredTensors) { $0.ignoredTensors = $1.all($2) }
    static let logits = Option(
        "logits", .words(LogitPositions.allCases.map(\.rawValue)), in: .shapes,
        "the positions of a prefill that have logits. last is enough to generate text, and saves the head's work on the other "
            + "positions", default: LogitPositions.all.rawValue
    ).setting(.logits) { $0.logits = $1[$2].flatMap(LogitPositions.init) ?? .all }
    static let interface = Option(
        "interface", .input("FILE"), in: .input,
        "the roles of inputs and outputs of a Core ML package that declares none. Its schema is "
            + "\(CommonOptions.schema("interface"))"
    ).setting(.interface) { $0.interfaceFile = $1[$2] }
    static let states = Option(
        "states", .words(StateStorage.allCases.map(\.rawValue)), in: .compression,
        "the element type of key/value caches. float16 halves their memory; int8 takes one byte for each element and 4 bytes for "
            + "the scale of each row. Keys and values are rounded when they enter the cache",
        default: StateStorage.float32.rawValue
    ).setting(.states) { $0.states = $1[$2].flatMap(StateStorage.init) ?? .float32 }

    /// The table, in the order of help pages.
    static let all =
        [
            adapter, parts, shape, shapeFrom, logits, compress, recipe, activations, calibrate, sampleCount,
            sampleLength, memory, importance, states, configuration, ignoredFields, ignoredTensors, interface, strict,
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
        return "Schemes: SPEC is one of these, with options as in palette:bits=4,group=16:\n" + HelpPage.table(rows)
            + "\nor a mix of llama.cpp's types, for the architectures that llama.cpp has:\n"
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
    /// The number of bytes of an option's size; nil without the option.
    /// - Throws: `RequestError` for another form.
    func bytes(_ option: Option) throws -> Int? {
        guard let text = self[option] else { return nil }
        guard let bytes = Text.parseBytes(text) else {
            throw RequestError("--\(option.name) \(text): \(Text.sizeForm)")
        }
        return bytes
    }

    /// The samples of a text; nil for a file of tensors.
    /// - Throws: `RequestError` for options of samples without a text.
    func textSamples(_ path: String) throws -> TextSamples? {
        guard TextSamples.recognises(path) else {
            try reject(
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
