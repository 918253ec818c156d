public import AccelByteIO
public import AccelPrograms
public import AccelTensors

/// A family of models: how its configuration and tensor names become programs. One file in `Families/`, one line in
/// `Families.swift`.
public protocol ModelFamily: Sendable {
    /// The `model_type` values of config.json that it reads.
    static var modelTypes: [String] { get }
    /// The classes of the original framework that it builds, e.g. `BertForMaskedLM`.
    static var architectures: [String] { get }
    init()
    /// Goes up when the family builds another program of some model.
    static var version: Int { get }
    /// Whether a configuration without a `model_type` is one of this family's.
    static func recognizes(_ configuration: JSONField) -> Bool
    /// The programs that a model consists of, e.g. `encoder`, `decoder`.
    var parts: [String] { get }
    /// Those of `parts` that are built when none is asked for.
    var defaultParts: [String] { get }
    /// Fields of config.json that change nothing that it builds, besides `[InertFields].common`. A field that it neither
    /// reads nor lists is refused.
    static var inertFields: [InertFields] { get }
    /// The objects in config.json that are configurations of their own, to which `[InertFields].common` applies too.
    static var nestedConfigurations: [String] { get }
    /// Whether it builds the modules that modules.json lists after the transformer. Others refuse a model that has such.
    static var buildsSentencePooling: Bool { get }
    /// Builds one program for each of `parts`, with a role for each program and each of its ports. It asks for every
    /// field that one of the family's parts or classes reads,
    /// whichever of them it builds.
    /// - Throws: `FormatError` for a configuration or tensor that does not fit, `RequestError` for what the family does
    ///   not support.
    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program]
}

/// A checkpoint as programs.
public struct FamilyModel: Sendable {
    /// A tensor of the checkpoint that no program reads.
    public struct UnusedTensor: Equatable, Sendable {
        public let name: String
        public let reason: String
        /// Whether the user said to leave it out.
        public var isAskedFor = false
    }
    /// A tensor that the configuration asks for, and that the checkpoint does not have, or not in this shape.
    public struct MissingTensor: Equatable, Sendable {
        public let name: String
        public let shape: Shape
        public let reason: String
    }
    /// One a part, in the order of the family's parts; links lead to each other only.
    public let programs: [Program]
    /// Sorted by name.
    public let unused: [UnusedTensor]
    /// The patterns of tensors to leave out that fit one of `unused`.
    public let ignoredTensors: [String]
    /// The names of the tensors of the checkpoint that a program reads, as they are or computed with others.
    public let used: Set<String>
    /// How the tensors that are read are found in the programs' constants, where these are others.
    public let origins: TensorOrigins
    /// In the order of the architecture. Not empty only where zeros were to stand in for missing tensors.
    public let missing: [MissingTensor]
    /// What a user should know of how the checkpoint was read, in sentences.
    public let remarks: [String]
}

extension ModelFamily {
    public static var version: Int { 1 }
    public static func recognizes(_ configuration: JSONField) -> Bool { false }
    public var parts: [String] { ["model"] }
    public var defaultParts: [String] { parts }
    public static var nestedConfigurations: [String] { [] }
    public static var buildsSentencePooling: Bool { false }

    /// All fields that change nothing.
    static var listedFields: [InertFields] {
        inertFields + .common + nestedConfigurations.flatMap([InertFields].common.under)
    }

    /// - Parameters:
    ///   - parts: what to build; empty for the default ones.
    ///   - ignoredTensors: patterns of tensors that may stay out of every program, whatever they are.
    ///   - allowsIdlePatterns: a pattern that fits no tensor left out is no error.
    ///   - standsInForMissing: zeros take the place of a tensor that is missing or of another shape, and it is listed, as
    ///     are tensors that must not stay out.
    /// - Throws: `RequestError` for a part that the family does not have, for a checkpoint that is quantized already, for a
    ///   tensor that no program reads and that the family does not explain, and for a pattern that fits no tensor left out;
    ///   `FormatError`.
    public func model(
        for checkpoint: Checkpoint, parts: [String] = [], ignoredTensors: [String] = [],
        allowsIdlePatterns: Bool = false, standsInForMissing: Bool = false
    ) throws -> FamilyModel {
        for part in parts where !self.parts.contains(part) {
            throw RequestError("there is no part \"\(part)\" (the model has: \(self.parts.joined(separator: ", ")))")
        }
        try checkpoint.refuseWhatWeightsDoNotSay()
        if !Self.buildsSentencePooling { try checkpoint.refuseModules() }
        let checkpoint = checkpoint.recording()
        var names = TensorNames(checkpoint)
        names.standsInForMissing = standsInForMissing
        let wanted = parts.isEmpty ? defaultParts : self.parts.filter(parts.contains)
        let programs: [Program]
        do {
            programs = try self.programs(for: checkpoint, parts: wanted, names: &names)
                .checkingInterfaces(parts: self.parts)
        } catch let error as FormatError {
            throw names.refusal(insteadOf: error) ?? error
        }
        try checkpoint.refuseIgnoredFieldsThatAreRead()
        try checkpoint.configuration.refuseUnread(Self.listedFields) {
            "if it does not, remove it or pass --ignore-config \($0)"
        }
        let ignored = try IgnoredTensors(ignoredTensors)
        let (unused, refused) = names.account(ignoring: ignored)
        let patterns = ignored.sorted(by: unused.map(\.name))
        if let pattern = patterns.idle.first, !allowsIdlePatterns {
            throw RequestError(
                "--ignore-tensor \(quoted(pattern)) fits no tensor that the functions leave out; leave the option out")
        }
        if !standsInForMissing, let error = names.error(for: refused) { throw error }
        return FamilyModel(
            programs: programs, unused: unused, ignoredTensors: patterns.fitting, used: names.used,
            origins: names.origins, missing: names.missing,
            remarks: checkpoint.ignoredFields.map { "the field \($0) was ignored, as asked for" } + names.remarks
                + checkpoint.remarksOnWeights(names.used))
    }
}
