import AccelByteIO
import AccelModelFamilies
import AccelPackages
import AccelTensors

/// A model in CTranslate2's layout: variables, configuration and vocabulary, before a type is chosen.
struct CTranslate2Model {
    let specification: (name: String, revision: Int)
    /// Sorted by name, with the names that CTranslate2's specification gives them.
    let variables: [CTranslate2Variable]
    /// The members of CTranslate2's config.json.
    let members: [String: JSON]
    let vocabulary: [String]
    /// Where the written model computes something else than the original, a sentence each.
    let remarks: [String]
    /// The element type that config.json names, in which CTranslate2's converter loads the model; nil if it names none.
    let elementType: ElementType?

    /// Lays out a model.
    /// - Parameters:
    ///   - tensors: the weights as floats.
    ///   - family: the family in accelc.
    ///   - origins: which weights are not the checkpoint's own tensors; these are rejected.
    /// - Throws: `RequestError` if CTranslate2 has no such model; `FormatError` if a file is corrupt.
    init(_ tensors: [StoredTensor], family: String, origins: TensorOrigins, assets: [Asset]) throws {
        guard let family = Self.families.first(where: { $0.names.contains(family) }) else {
            throw RequestError(
                "CTranslate2: there is no model of the family \(quoted(family)) that accelc can write (there is "
                    + "\(Self.families.flatMap(\.names).joined(separator: ", ")))", code: .familyUnsupported,
                candidates: [CoreMLExporter.name])
        }
        if let derived = tensors.first(where: { origins.derivations[$0.name] != nil }) {
            throw RequestError(
                "CTranslate2: \(quoted(derived.name)) is not a tensor of the checkpoint, as it expects it")
        }
        var draft = try CTranslate2Draft(tensors, assets: assets, prefixes: family.prefixes)
        vocabulary = try family.lay(out: &draft, assets)
        specification = draft.specification
        variables = draft.variables.sorted { $0.name < $1.name }
        members = draft.members
        let left = draft.unused
        remarks =
            draft.remarks
            + (left.isEmpty
                ? []
                : [
                    "CTranslate2's \(draft.specification.name) has no place for \(left.count) "
                        + "\(left.count == 1 ? "tensor" : "tensors") of the model, such as \(left[0]): left out"
                ])
        elementType = try Self.elementType(draft.field)
    }

    static let families: [any CTranslate2Family] =
        [CTranslate2Whisper()] + CTranslate2Encoder.all as [any CTranslate2Family] + CTranslate2Decoder.all

    private static func elementType(_ config: JSONField) throws -> ElementType? {
        let field = config["dtype"].exists ? config["dtype"] : config["torch_dtype"]
        guard field.exists else { return nil }
        let types: [String: ElementType] = ["float32": .float32, "float16": .float16, "bfloat16": .bfloat16]
        return types[try field.string()]
    }
}

/// The layout of some families in CTranslate2.
protocol CTranslate2Family: Sendable {
    /// The names of the families in accelc.
    var names: [String] { get }
    /// The prefixes of tensor names that a checkpoint may have or lack.
    var prefixes: [String] { get }
    /// Adds all variables and the configuration.
    /// - Returns: the vocabulary.
    func lay(out draft: inout CTranslate2Draft, _ assets: [Asset]) throws -> [String]
    /// Reads all variables as tensors of a checkpoint.
    /// - Returns: the configuration of the checkpoint.
    /// - Throws: `RequestError` (unavailable) for what the family lacks; `FormatError` if variables contradict each other.
    func read(_ reader: inout CTranslate2Reader, _ settings: CTranslate2Settings) throws -> CTranslate2Checkpoint
}

/// The functions between linear layers, by the numbers that CTranslate2 gives them.
enum CTranslate2Activation {
    private static let codes: [String: Int8] = [
        "relu": 0, "gelu_fast": 1, "gelu_new": 1, "gelu_pytorch_tanh": 1, "silu": 2, "swish": 2, "gelu": 3,
        "gelu_python": 3, "quick_gelu": 4,
    ]
    static let tanh = CTranslate2Scalar.int8(5)

    /// Returns the name of a function in configurations; nil for an unknown number.
    static func name(of code: Int) -> String? {
        let names = ["relu", "gelu_pytorch_tanh", "silu", "gelu", "quick_gelu", "tanh", "sigmoid"]
        return names.indices.contains(code) ? names[code] : nil
    }

    /// Reads an activation.
    /// - Throws: `RequestError` for one that CTranslate2 lacks.
    static func read(_ field: JSONField, default other: String) throws -> CTranslate2Scalar {
        let name = try field.exists ? field.string() : other
        guard let code = codes[name] else {
            throw RequestError(
                "CTranslate2: there is no activation \(quoted(name)), for which the field \(field.path) of \(field.file) "
                    + "asks (there is \(codes.keys.sorted().joined(separator: ", ")))")
        }
        return .int8(code)
    }
}
