public import AccelTensors

/// How the tensors of a checkpoint that were taken are found in the constants of programs, where these are not the same.
public struct TensorOrigins: Sendable {
    /// How a constant was made, by its name.
    public internal(set) var derivations: [String: Derivation] = [:]
    /// By the name of a constant, other tensors of the checkpoint that are equal to it, sorted.
    public internal(set) var copies: [String: [String]] = [:]
    /// Small tensors of which tables were computed, sorted by name.
    public internal(set) var kept: [StoredTensor] = []

    /// Of constants that are the tensors themselves.
    public init() {}
}

extension TensorNames {
    /// A tensor that was made of some that were taken.
    mutating func derived(_ tensor: StoredTensor, _ derivation: Derivation) -> StoredTensor {
        origins.derivations[tensor.name] = derivation
        return tensor
    }

    /// The elements of a tensor that was taken under another shape of as many.
    mutating func reshaped(_ tensor: StoredTensor, _ shape: Shape) -> StoredTensor {
        derived(
            StoredTensor(
                name: tensor.name, elementType: tensor.elementType, shape: shape, bytes: tensor.bytes,
                file: tensor.file),
            Derivation(rule: .reshape, sources: [.init(tensor)]))
    }

    /// A matrix that was taken, with its rows as columns.
    mutating func transposed(_ tensor: StoredTensor) -> StoredTensor {
        derived(tensor.transposed(), Derivation(rule: .transpose, sources: [.init(tensor)]))
    }

    /// Takes a small tensor of which a table is computed.
    /// - Throws: `FormatError` as `take` does, and for a number that is not finite.
    mutating func takeForTable(_ name: String, _ shape: Shape) throws -> [Float] {
        let tensor = try take(name, shape)
        if let index = tensor.floats().firstIndex(where: { !$0.isFinite }) {
            throw tensor.error("is not finite", index: index)
        }
        if !origins.kept.contains(where: { $0.name == tensor.name }) {
            origins.kept = (origins.kept + [tensor]).sorted { $0.name < $1.name }
        }
        return tensor.floats()
    }

    /// Leaves `copy` unused: it is equal to a tensor that is taken in its place.
    mutating func leaveOut(_ copy: StoredTensor, equalTo tensor: StoredTensor) {
        origins.copies[tensor.name] = Set((origins.copies[tensor.name] ?? []) + [copy.name]).sorted()
    }
}
