public import AccelByteIO
public import AccelPrograms
public import AccelTensors
import AccelWeightCompression

/// A model family: builds programs from the configuration and the tensor names of a checkpoint. A new family is one
/// file in `Families/` and one line in `Families.swift`.
public protocol ModelFamily: Sendable {
    /// The supported `model_type` values of config.json.
    static var modelTypes: [String] { get }
    /// The supported model classes of transformers or the original framework, such as `BertForMaskedLM`.
    static var architectures: [String] { get }
    /// Creates the family, which has no state.
    init()
    /// Increases when the family builds another program for any model, or says something else of it that packages record.
    static var version: Int { get }
    /// Returns whether a configuration without a `model_type` belongs to this family.
    static func recognizes(_ configuration: JSONField) -> Bool
    /// The parts of a model, such as `encoder` and `decoder`; each is one program.
    var parts: [String] { get }
    /// The parts to build if a request names none.
    var defaultParts: [String] { get }
    /// Parts with the ports of another runtime, which defines them by name, shape and type. A request builds them by name only: they
    /// are not among `parts`, and their ports may be opaque.
    var contractParts: [String] { get }
    /// Fields of config.json without effect on the programs, in addition to `[InertFields].common`. Of the fields that the family
    /// neither reads nor lists, those that the model's class defines are rejected unless they have its default (`ConfigurationClass`).
    static var inertFields: [InertFields] { get }
    /// Objects in config.json that are configurations themselves, to which `[InertFields].common` applies too.
    static var nestedConfigurations: [String] { get }
    /// The family builds the modules that modules.json lists after the transformer. Other families reject such models.
    static var buildsSentencePooling: Bool { get }
    /// Builds one program for each of `parts`, with a role for each program and each of its ports. It has to read every
    /// field that any of the family's parts or classes reads, whichever of them it builds.
    /// - Throws: `FormatError` for a configuration or tensor that does not fit; `RequestError` for unsupported models.
    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program]
}

/// The programs of a checkpoint, with an account of its tensors.
public struct FamilyModel: Sendable {
    /// In place of the names of parts: all that the family has.
    public static let everyPart = "all"
    /// A tensor that the configuration requires, but that the checkpoint lacks or has in another shape.
    public struct MissingTensor: Equatable, Sendable {
        /// The name that the architecture gives it.
        public let name: String
        /// The required shape.
        public let shape: Shape
        /// The problem, in the words of the error.
        public let reason: String
    }
    /// The programs, one per part in the order of the family's parts. Links refer to these programs only.
    public let programs: [Program]
    /// The tensors that no program reads, sorted by name.
    public let unused: [UnusedTensor]
    /// The patterns of ignored tensors that match one of `unused`.
    public let ignoredTensors: [String]
    /// The names of all tensors that a program reads, directly or after a computation.
    public let used: Set<String>
    /// The relation of checkpoint tensors to constants of other names or shapes.
    public let origins: TensorOrigins
    /// The missing tensors in the order of the architecture. Empty unless the caller asked for zeros in their place.
    public let missing: [MissingTensor]
    /// The paths of fields in config.json that the model's class does not define, so that they change nothing.
    public let undefinedFields: [String]
    /// Sentences for the user about how the checkpoint was read.
    public let remarks: [String]
}

extension ModelFamily {
    public static var version: Int { 1 }
    public static func recognizes(_ configuration: JSONField) -> Bool { false }
    public var parts: [String] { ["model"] }
    public var defaultParts: [String] { parts }
    public var contractParts: [String] { [] }
    /// All parts that a request may name.
    package var nameableParts: [String] { parts + contractParts }
    public static var nestedConfigurations: [String] { [] }
    public static var buildsSentencePooling: Bool { false }

    /// All fields without effect, including those of nested configurations.
    static var listedFields: [InertFields] {
        inertFields + .common + nestedConfigurations.flatMap([InertFields].common.under)
    }

    private static func undefinedFields(_ configuration: JSONField) throws -> [String] {
        let type = (try? configuration["model_type"].string()) ?? modelTypes[0]
        guard let known = ConfigurationClass.all[type] else {
            try configuration.rejectUnread(listedFields)
            return []
        }
        return try configuration.undefinedFields(listedFields, of: known)
    }

    private static func remark(on undefined: [String]) -> [String] {
        undefined.isEmpty
            ? [] : ["the model's class does not define \(undefined.joined(separator: ", ")) of config.json: no effect"]
    }

    /// Builds the programs of a checkpoint.
    /// - Parameters:
    ///   - parts: the parts to build; empty for the default parts, and `FamilyModel.everyPart` alone for all of them.
    ///   - ignoredTensors: patterns of tensors that need not be read by any program.
    ///   - allowsIdlePatterns: a pattern without an unused tensor is not an error.
    ///   - standsInForMissing: zeros replace a tensor that is missing or has another shape, and `missing` lists it.
    ///     Tensors that must be read by a program are listed, too, instead of being rejected.
    /// - Throws: `RequestError` for a part that the family does not have, for a quantized checkpoint, for a tensor that
    ///   no program reads without a known reason, and for a pattern without an unused tensor; `FormatError` for a
    ///   configuration or tensor that does not fit.
    public func model(
        for checkpoint: Checkpoint, parts: [String] = [], ignoredTensors: [String] = [],
        allowsIdlePatterns: Bool = false, standsInForMissing: Bool = false
    ) throws -> FamilyModel {
        let parts = parts == [FamilyModel.everyPart] ? self.parts : parts
        for part in parts where !nameableParts.contains(part) {
            throw RequestError("unknown part \"\(part)\" (the model has: \(self.parts.joined(separator: ", ")))")
        }
        try checkpoint.rejectIncompleteWeights()
        if !Self.buildsSentencePooling { try checkpoint.rejectModules() }
        let checkpoint = checkpoint.recording()
        var names = TensorNames(checkpoint)
        names.standsInForMissing = standsInForMissing
        if let stated = try? checkpoint.configuration["architectures"].array().first?.string(),
            !Self.architectures.contains(stated)
        {
            names.leftOutHead = stated
            names.remark("this is the base model of \(stated), without its head")
        }
        let wanted = parts.isEmpty ? defaultParts : nameableParts.filter(parts.contains)
        let programs: [Program]
        do {
            programs = try self.programs(for: checkpoint, parts: wanted, names: &names)
                .checkingInterfaces(parts: self.parts, allowingOpaque: contractParts)
        } catch let error as any ReportedError {
            try checkpoint.configuration.rejectMisspelt(Self.listedFields)
            throw (error as? FormatError).flatMap(names.rejection) ?? error
        }
        try checkpoint.rejectIgnoredFieldsThatAreRead()
        let undefined = try Self.undefinedFields(checkpoint.configuration)
        let ignored = try IgnoredTensors(ignoredTensors)
        let (unused, rejected) = names.account(ignoring: ignored)
        let patterns = ignored.sorted(by: unused.map(\.name))
        if let pattern = patterns.idle.first, !allowsIdlePatterns {
            throw RequestError(Glob.unused(pattern, of: "unused tensor"))
        }
        if !standsInForMissing, let error = names.error(for: rejected) { throw error }
        return FamilyModel(
            programs: programs, unused: unused, ignoredTensors: patterns.fitting, used: names.used,
            origins: names.origins, missing: names.missing,
            undefinedFields: undefined,
            remarks: checkpoint.ignoredFields.map { "the field \($0) was ignored, as asked for" }
                + Self.remark(on: undefined) + names.remarks
                + checkpoint.remarksOnWeights(names.used))
    }
}
