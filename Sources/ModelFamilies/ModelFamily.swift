public import ByteIO
public import Programs
public import Tensors

/// A family of models: how its configuration and tensor names become programs. One file in `Families/`, one line in
/// `Families.swift`.
public protocol ModelFamily: Sendable {
    /// The `model_type` values of config.json that it reads.
    static var modelTypes: [String] { get }
    /// The classes of the original framework that it builds, e.g. `BertForMaskedLM`.
    static var architectures: [String] { get }
    init()
    /// Whether a configuration without a `model_type` is one of this family's.
    static func recognizes(_ configuration: JSONField) -> Bool
    /// The programs that a model consists of, e.g. `encoder`, `decoder`.
    var parts: [String] { get }
    /// Those of `parts` that are built when none is asked for.
    var defaultParts: [String] { get }
    /// Builds one program for each of `parts`.
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
    }
    /// A tensor that the configuration asks for, and that the checkpoint does not have, or not in this shape.
    public struct MissingTensor: Equatable, Sendable {
        public let name: String
        public let shape: Shape
        public let reason: String
    }
    /// One a part, in the order of the family's parts.
    public let programs: [Program]
    /// Sorted by name.
    public let unused: [UnusedTensor]
    /// The names of the tensors of the checkpoint that a program reads, as they are or computed with others.
    public let used: Set<String>
    /// In the order of the architecture. Not empty only where zeros were to stand in for missing tensors.
    public let missing: [MissingTensor]
}

extension ModelFamily {
    public static func recognizes(_ configuration: JSONField) -> Bool { false }
    public var parts: [String] { ["model"] }
    public var defaultParts: [String] { parts }

    /// - Parameters:
    ///   - parts: what to build; empty for the default ones.
    ///   - standsInForMissing: zeros take the place of a tensor that is missing or of another shape, and it is listed.
    /// - Throws: `RequestError` for a part that the family does not have; `FormatError`.
    public func model(for checkpoint: Checkpoint, parts: [String] = [], standsInForMissing: Bool = false) throws
        -> FamilyModel
    {
        for part in parts where !self.parts.contains(part) {
            throw RequestError("there is no part \"\(part)\" (the model has: \(self.parts.joined(separator: ", ")))")
        }
        let quantized = checkpoint.configuration["quantization_config"].exists
        try checkpoint.configuration.refuse([
            ("quantization_config", quantized, "a checkpoint that is quantised already")
        ])
        var names = TensorNames(checkpoint)
        names.standsInForMissing = standsInForMissing
        let wanted = parts.isEmpty ? defaultParts : self.parts.filter(parts.contains)
        let programs = try programs(for: checkpoint, parts: wanted, names: &names)
        return FamilyModel(programs: programs, unused: names.unused, used: names.used, missing: names.missing)
    }
}
