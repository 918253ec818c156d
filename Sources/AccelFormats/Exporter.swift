public import AccelByteIO
public import AccelPrograms
public import AccelTensors

/// What writes a format: `ModelFormat.exporter` names it.
public protocol Exporter: Sendable {
    /// The word after `--format`.
    static var name: String { get }
    /// One line, without a full stop.
    static var summary: String { get }
    static var options: [ExportOption] { get }
    /// What an export may replace.
    static var output: OutputKind { get }
    /// Goes up when the same model and choices give other bytes.
    static var version: Int { get }
    /// - Parameter values: by the option's name, those given.
    /// - Throws: `RequestError` for values that do not go together.
    init(_ values: ExportOptionValues) throws
    /// Refuses, before any weight is compressed, what the format cannot express.
    /// - Returns: the weights that are to stay plain numbers, where that was allowed, and why.
    /// - Throws: `RequestError` naming the operator or tensor, with what to do.
    func check(_ functions: [FrozenProgram], _ plan: [PlannedWeight]) throws -> [String: String]
    /// Writes the model's files below `path`, an empty or absent folder of the caller's own: the caller publishes it.
    /// - Throws: `RequestError` naming the operator or tensor that the format cannot express, with what to do.
    func export(_ model: ExportedModel, to path: String) throws -> ExportReport
    /// `ExportedModel.provenance` as an earlier export has it, by key.
    /// - Parameter file: the content of a file of the export by its name; nil when it has none of that name.
    /// - Throws: `FormatError` for an export that is corrupt.
    static func provenance(ofExport file: (_ name: String) throws -> ByteView?) throws -> [String: String]
}

/// A choice that an exporter offers.
public struct ExportOption: Sendable {
    public let name: String
    /// The words it takes, the default first; empty for a flag.
    public let allowed: [String]
    public let help: String

    public init(_ name: String, allowed: [String], help: String) {
        self.name = name
        self.allowed = allowed
        self.help = help
    }
}

/// The choices made for an exporter.
public struct ExportOptionValues: Sendable {
    private let words: [String: String]
    private let flags: Set<String>

    public init(words: [String: String] = [:], flags: Set<String> = []) {
        self.words = words
        self.flags = flags
    }

    public func word(_ option: ExportOption) -> String { words[option.name] ?? option.allowed.first ?? "" }
    public func has(_ option: ExportOption) -> Bool { flags.contains(option.name) }

    /// Each of the options with what was chosen.
    public func choices(of options: [ExportOption]) -> [(name: String, value: String)] {
        options.map { ($0.name, $0.allowed.isEmpty ? (has($0) ? "yes" : "no") : word($0)) }
    }
}

/// A model to export: frozen functions, stored weights, and where they come from.
public struct ExportedModel: Sendable {
    /// The key of the patterns of tensors that were left out on request, a line each.
    public static let ignoredTensorsKey = "accelc.ignored-tensors"

    public let program: CompressedProgram
    /// e.g. `bert`
    public let family: String
    /// What a reader of the file should know of its origin: key and text, sorted by key.
    public let provenance: [(key: String, text: String)]
    /// Weights that `Exporter.check` has left plain numbers, and why.
    public let plain: [String: String]
    /// By name, what weights were multiplied by before they were stored, so that the functions give the same. An export says so:
    /// who compares it with the model has to know.
    public let scalings: [String: ChannelScaling]

    public init(
        program: CompressedProgram, family: String, provenance: [(key: String, text: String)],
        plain: [String: String] = [:], scalings: [String: ChannelScaling] = [:]
    ) {
        self.scalings = scalings
        self.program = program
        self.plain = plain
        self.family = family
        self.provenance = provenance.sorted { $0.key < $1.key }
    }
}

/// What an exporter has written, and what it had to do for it.
public struct ExportReport: Sendable {
    public let byteCount: Int
    public let bitsPerWeight: Double
    /// For people, a line each.
    public let lines: [String]
    /// What differs from what was asked for.
    public let warnings: [String]
    /// The same for programs.
    public let json: JSON

    public init(byteCount: Int, bitsPerWeight: Double, lines: [String], warnings: [String], json: JSON) {
        self.byteCount = byteCount
        self.bitsPerWeight = bitsPerWeight
        self.lines = lines
        self.warnings = warnings
        self.json = json
    }
}

extension ExportReport {
    /// All of it, so that it can be kept.
    public var document: JSON {
        [
            "bytes": .integer(Int64(byteCount)), "bits_per_weight": .number(bitsPerWeight),
            "lines": .array(lines.map { .string($0) }), "warnings": .array(warnings.map { .string($0) }),
            "details": json,
        ]
    }

    /// - Throws: `FormatError` for what `document` does not make.
    public init(_ document: JSON, file: String) throws {
        let field = JSONField(document, file: file)
        let details =
            if case .object(let members) = document { members.first { $0.key == "details" } } else { JSON.Member?.none }
        self.init(
            byteCount: try field["bytes"].int(in: 0...Int.max), bitsPerWeight: try field["bits_per_weight"].double(),
            lines: try field["lines"].array().map { try $0.string() },
            warnings: try field["warnings"].array().map { try $0.string() }, json: details?.value ?? .null)
    }
}
