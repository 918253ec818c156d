import AccelByteIO
import AccelTensors

/// The record that accelc writes into the index of exported weights: their encodings, and their types and names in the checkpoint.
/// Empty for models of other tools.
struct ExportRecord: Sendable {
    /// The codecs, by the names of weights in the file.
    var schemes: [String: String] = [:]
    /// The types in the checkpoint.
    var types: [String: ElementType] = [:]
    /// The names in the checkpoint, where they do not follow from the file's names.
    var names: [String: String] = [:]

    private static let schemesKey = "accelc.schemes"
    private static let typesKey = "accelc.types"
    private static let namesKey = "accelc.names"

    init() {}

    /// Reads the index of a folder, if it has one.
    /// - Throws: `FormatError` for an index that is no JSON, or if it names codecs, types or tensors in another way.
    init(in folder: String) throws {
        let path = "\(folder)/\(MLXFolder.index.name)"
        guard Files.kind(of: path) == .file else { return }
        let metadata = JSONField(try JSON.read(path), file: path)["metadata"]
        func entries<Value>(_ key: String, _ read: (JSONField) throws -> Value) throws -> [String: Value] {
            guard metadata[key].exists else { return [:] }
            return Dictionary(try metadata[key].members().map { ($0.key, try read($0.field)) }) { first, _ in first }
        }
        types = try entries(Self.typesKey) { field in
            guard let type = ElementType(rawValue: try field.string()), type.isFloatingPoint else {
                throw field.error("expected a floating-point type, such as BF16")
            }
            return type
        }
        (schemes, names) = (
            try entries(Self.schemesKey) { try $0.string() }, try entries(Self.namesKey) { try $0.string() }
        )
    }

    /// The members of the index.
    var members: [JSON.Member] {
        func member(_ key: String, _ texts: [String: String]) -> JSON.Member {
            JSON.Member(key, .object(texts.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .string($0.value)) }))
        }
        return [member(Self.schemesKey, schemes), member(Self.typesKey, types.mapValues(\.rawValue))]
            + (names.isEmpty ? [] : [member(Self.namesKey, names)])
    }
}
