public import AccelByteIO
public import AccelModelFamilies
public import AccelPackages
public import AccelPrograms
public import AccelTensors
public import AccelWeightCompression

/// Writes models in a format; found by `ModelFormat.exporter`.
public protocol Exporter: Sendable {
    /// The value of `--format`, e.g. `coreml`.
    static var name: String { get }
    /// A description for the help text: one line without a full stop.
    static var summary: String { get }
    /// The options of the exporter.
    static var options: [ExportOption] { get }
    /// The kind of output. An export may replace an earlier output of this kind only.
    static var output: OutputKind { get }
    /// The option that stands for a scheme of all weights, of a format that stores all of them in one way; nil for a scheme of weights.
    static func choice(forScheme scheme: String) -> (option: ExportOption, word: String)?
    /// The file of an export that is published alone where the output has this name, and its kind; nil for the folder.
    static func singleFile(for output: String) -> (name: String, kind: OutputKind)?
    /// A number that increases when the same model and options give other bytes; part of cache keys.
    static var version: Int { get }
    /// Whether the output depends on the shapes of the functions.
    static var dependsOnShapes: Bool { get }
    /// Whether matrices of a model may have different schemes.
    static var mixesSchemes: Bool { get }
    /// The families, by `ModelFamily.name`, that the format has models of; nil for all.
    static var families: [String]? { get }
    /// Returns why the format does not hold a matrix of float32 weights in a scheme; nil if it does. For tables of formats; `check`
    /// decides for a model.
    static func unsupportedReason(of codec: any WeightCodec, shape: Shape) -> String?
    /// The option that chooses a scheme of the format's own, instead of `--compress`; nil if there is none.
    static var schemeOption: ExportOption? { get }
    /// The scheme of the weights that `check` leaves uncompressed, e.g. `float16`.
    static var plainScheme: String { get }
    /// Returns the model as files of the format hold it: without outputs that no program computes from them. Targets and figures are of
    /// the outputs that are left, and an export is compared with these.
    static func held(_ model: SourceModel) throws -> SourceModel
    /// Makes an exporter with the given option values; options that are left out have their defaults.
    /// - Throws: `RequestError` if values contradict each other.
    init(_ values: ExportOptionValues) throws
    /// Checks that the format supports the model, before any weight is compressed.
    /// - Returns: the reasons of weights that stay uncompressed, by name: those that the format stores as plain numbers in any case,
    ///   and, where the options allow fallbacks, those that it does not support.
    /// - Throws: `RequestError` with the unsupported operator or tensor.
    func check(_ model: PlannedExport) throws -> [String: String]
    /// Writes the model's files into the folder `path`, which is empty or absent; the caller publishes it.
    /// - Throws: `RequestError` with the unsupported operator or tensor.
    func export(_ model: ExportedModel, to path: String) throws -> ExportReport
    /// Reads `ExportedModel.provenance` from an earlier export, by key.
    /// - Parameter file: returns the content of a file of the export by its name; nil if there is no such file.
    /// - Throws: `FormatError` if the export is corrupt.
    static func provenance(ofExport file: (_ name: String) throws -> ByteView?) throws -> [String: String]
}

extension Exporter {
    public static var dependsOnShapes: Bool { true }
    public static var mixesSchemes: Bool { true }
    public static var plainScheme: String { "float16" }
    public static var families: [String]? { nil }
    public static var schemeOption: ExportOption? { nil }
    public static func held(_ model: SourceModel) throws -> SourceModel { model }

    public static func choice(forScheme scheme: String) -> (option: ExportOption, word: String)? { nil }
    public static func singleFile(for output: String) -> (name: String, kind: OutputKind)? { nil }

    /// Asks `check` about a function that multiplies by such a matrix.
    public static func unsupportedReason(of codec: any WeightCodec, shape: Shape) -> String? {
        do {
            let zeros = StoredTensor(name: "weight", floats: [Float](repeating: 0, count: shape.count), shape: shape)
            var builder = ProgramBuilder(name: "main")
            let input = builder.input("x", TensorType(.float32, shape: [1, shape.columns]))
            let weight = builder.constant(zeros, isWeight: true)
            builder.output("y", try builder.apply(Linear(), [input, weight]))
            let function = try FrozenProgram(builder.finish(), bindings: ShapeBindings())
            let plan = Recipe(default: codec).plan(for: [function])
            _ = try Self(ExportOptionValues()).check(PlannedExport([function], plan))
            return nil
        } catch {
            return "\(error)"
        }
    }
}

/// An option of an exporter: a flag, or a choice of words.
public struct ExportOption: Sendable {
    /// The name on the command line without the dashes.
    public let name: String
    /// The allowed values, the default first; empty for a flag.
    public let allowed: [String]
    /// The help text: sentences without the last full stop. The first one is short.
    public let help: String
    /// Most people need the option.
    package private(set) var isCommon = false

    /// An option with its allowed values; none for a flag.
    public init(_ name: String, allowed: [String], help: String) {
        self.name = name
        self.allowed = allowed
        self.help = help
    }
}

extension ExportOption {
    /// The same option, marked as one that most people need.
    package var common: ExportOption {
        var option = self
        option.isCommon = true
        return option
    }

    /// The flag of formats that cannot express every scheme.
    package static let allowFallback = ExportOption(
        "allow-fallback", allowed: [],
        help:
            "write weights as floats if the format does not support their scheme. A warning lists them. With gguf and mlx "
            + "the weights of a package keep their schemes")
}

/// Values of an exporter's options.
public struct ExportOptionValues: Sendable {
    private let words: [String: String]
    private let flags: Set<String>

    /// Values by option name, and the names of the flags that are set.
    public init(words: [String: String] = [:], flags: Set<String> = []) {
        self.words = words
        self.flags = flags
    }

    /// Returns the same values with another word for an option.
    package func setting(_ option: ExportOption, to word: String) -> ExportOptionValues {
        ExportOptionValues(words: words.merging([option.name: word]) { $1 }, flags: flags)
    }

    /// Returns the same values with one more flag.
    package func setting(_ flag: ExportOption) -> ExportOptionValues {
        ExportOptionValues(words: words, flags: flags.union([flag.name]))
    }

    /// Returns the value of an option, or its default.
    public func word(_ option: ExportOption) -> String { words[option.name] ?? option.allowed.first ?? "" }
    /// Returns whether a flag is set.
    public func has(_ option: ExportOption) -> Bool { flags.contains(option.name) }

    /// Returns all options with their values, including defaults; flags are `yes` or `no`.
    public func choices(of options: [ExportOption]) -> [(name: String, value: String)] {
        options.map { ($0.name, $0.allowed.isEmpty ? (has($0) ? "yes" : "no") : word($0)) }
    }
}

/// A model to export, before any weight is compressed.
public struct PlannedExport: Sendable {
    /// The frozen functions.
    public let functions: [FrozenProgram]
    /// The scheme of each weight.
    public let plan: [PlannedWeight]
    /// The model family, e.g. `bert`.
    public let family: String
    /// The origin of the weights in the checkpoint's tensors.
    public let origins: TensorOrigins
    /// The files that are passed through, such as tokenizer and configuration.
    public let assets: [Asset]

    /// A model with the schemes of its weights.
    public init(
        _ functions: [FrozenProgram], _ plan: [PlannedWeight], family: String = "",
        origins: TensorOrigins = TensorOrigins(), assets: [Asset] = []
    ) {
        (self.functions, self.plan, self.family) = (functions, plan, family)
        (self.origins, self.assets) = (origins, assets)
    }
}

/// A model to export: frozen functions, encoded weights, and their provenance.
public struct ExportedModel: Sendable {
    /// The provenance key of the ignored tensors: patterns, one on each line.
    public static let ignoredTensorsKey = "accelc.ignored-tensors"
    /// The provenance key of the positions that decoders compute logits for, where these are not all.
    public static let logitsKey = "accelc.logits"

    /// The frozen functions with their encoded weights.
    public let program: CompressedProgram
    /// The model family, e.g. `bert`.
    public let family: String
    /// The origin of the model, to be written into the export: keys and texts, sorted by key.
    public let provenance: [(key: String, text: String)]
    /// The weights that `Exporter.check` left uncompressed, with the unsupported reason.
    public let plain: [String: String]
    /// The factors by which rows and columns of weights were multiplied before encoding, by name. The functions undo them. An
    /// export records them, so that its weights can be compared with the model's.
    public let scalings: [String: ChannelScaling]
    /// The origin of the weights in the checkpoint's tensors.
    public let origins: TensorOrigins
    /// The files that are passed through, such as tokenizer and configuration.
    public let assets: [Asset]

    /// A model with its provenance in any order.
    public init(
        program: CompressedProgram, family: String, provenance: [(key: String, text: String)],
        plain: [String: String] = [:], scalings: [String: ChannelScaling] = [:],
        origins: TensorOrigins = TensorOrigins(), assets: [Asset] = []
    ) {
        (self.origins, self.assets) = (origins, assets)
        self.scalings = scalings
        self.program = program
        self.plain = plain
        self.family = family
        self.provenance = provenance.sorted { $0.key < $1.key }
    }
}

/// The report of an export: sizes, fallbacks and details.
public struct ExportReport: Sendable {
    /// Bytes of all files of the export.
    public private(set) var byteCount = 0
    /// Average bits of the stored weights, with scales and tables.
    public let bitsPerWeight: Double
    /// Bytes of the stored weights alone, for formats whose targets count them; nil for others, and for a report from the cache.
    package let weightBytes: Int?
    /// The report for people.
    public let lines: [String]
    /// Differences from the request, such as fallbacks, a sentence each.
    public let warnings: [String]
    /// The report for programs; the members depend on the format.
    public let json: JSON

    /// A report of a finished export, without its bytes.
    public init(bitsPerWeight: Double, lines: [String], warnings: [String], json: JSON) {
        self.init(bitsPerWeight: bitsPerWeight, weightBytes: nil, lines: lines, warnings: warnings, json: json)
    }

    init(bitsPerWeight: Double, weightBytes: Int?, lines: [String], warnings: [String], json: JSON) {
        (self.bitsPerWeight, self.weightBytes) = (bitsPerWeight, weightBytes)
        self.lines = lines
        self.warnings = warnings
        self.json = json
    }
}

extension ExportReport {
    /// Returns the report with the bytes of the export at a path.
    package func measured(at path: String) throws -> ExportReport {
        var report = self
        report.byteCount = try Files.byteCount(ofTree: path)
        return report
    }

    /// The whole report as JSON, for the cache.
    public var document: JSON {
        [
            "bytes": .integer(Int64(byteCount)), "bits_per_weight": .number(bitsPerWeight),
            "lines": .array(lines.map { .string($0) }), "warnings": .array(warnings.map { .string($0) }),
            "details": json,
        ]
    }

    /// Reads the JSON of `document`.
    /// - Throws: `FormatError` if it has another structure.
    public init(_ document: JSON, file: String) throws {
        let field = JSONField(document, file: file)
        let details =
            if case .object(let members) = document { members.first { $0.key == "details" } } else { JSON.Member?.none }
        self.init(
            bitsPerWeight: try field["bits_per_weight"].double(),
            lines: try field["lines"].array().map { try $0.string() },
            warnings: try field["warnings"].array().map { try $0.string() }, json: details?.value ?? .null)
        byteCount = try field["bytes"].int(in: 0...Int.max)
    }
}
