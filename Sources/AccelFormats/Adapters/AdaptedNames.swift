import AccelByteIO
import AccelTensors

/// Finds tensors of a checkpoint by the names that a model has in memory: a checkpoint may have one more prefix, such as
/// `bert.`, or one less.
struct AdaptedNames: Sendable {
    private let names: Set<String>
    private let byEnding: [String: [String]]

    init(_ names: [String]) {
        self.names = Set(names)
        byEnding = Dictionary(grouping: names.filter { $0.contains(".") }) { Self.withoutFirst($0) }
    }

    private static func withoutFirst(_ name: String) -> String {
        String(name[(name.firstIndex(of: ".").map(name.index(after:)) ?? name.startIndex)...])
    }

    /// Parts of the names that modules of ViT have in memory since transformers 5, and those of its checkpoints.
    private static let renamings: [(inMemory: String, stored: String)] = [
        (".attention.q_proj.", ".attention.attention.query."), (".attention.k_proj.", ".attention.attention.key."),
        (".attention.v_proj.", ".attention.attention.value."), (".attention.o_proj.", ".attention.output.dense."),
        (".mlp.fc1.", ".intermediate.dense."), (".mlp.fc2.", ".output.dense."), (".layers.", ".encoder.layer."),
    ]

    /// Returns the name in the checkpoint; nil if it has no such tensor.
    /// - Throws: `FormatError` about `tensor` if several fit.
    func find(_ name: String, for tensor: StoredTensor) throws -> String? {
        if let found = try stored(name, for: tensor) { return found }
        let renamed = Self.renamings.reduce(".\(name)") { $0.replacing($1.inMemory, with: $1.stored) }.dropFirst()
        return renamed == name ? nil : try stored(String(renamed), for: tensor)
    }

    private func stored(_ name: String, for tensor: StoredTensor) throws -> String? {
        if names.contains(name) { return name }
        let longer = byEnding[name] ?? []
        guard longer.count < 2 else {
            let list = longer.sorted().map(quoted).joined(separator: ", ")
            throw tensor.error("the model has several tensors of that name: \(list)")
        }
        let shorter = Self.withoutFirst(name)
        return longer.first ?? (shorter != name && names.contains(shorter) ? shorter : nil)
    }

    /// Returns the error for a tensor that changes one that the model does not have.
    func missing(_ name: String, for tensor: StoredTensor) -> FormatError {
        let ending = ".\(name.split(separator: ".").suffix(2).joined(separator: "."))"
        let near = names.filter { $0.hasSuffix(ending) }.sorted().prefix(2).map(quoted)
        let hint = near.isEmpty ? "" : "; it has \(near.joined(separator: " and "))"
        return tensor.error("the model has no tensor \(quoted(name))\(hint): is the adapter one of this model?")
    }
}
