import AccelByteIO
public import AccelTensors

/// The relation of a checkpoint's tensors to the constants of programs, for all tensors that differ from their
/// constants.
public struct TensorOrigins: Sendable {
    /// The derivations of computed constants, by name.
    public internal(set) var derivations: [String: Derivation] = [:]
    /// For each constant, the names of other checkpoint tensors with equal content, sorted.
    public internal(set) var copies: [String: [String]] = [:]
    /// Small tensors from which tables were computed, sorted by name.
    public internal(set) var kept: [StoredTensor] = []

    /// Creates origins for constants that are the tensors themselves.
    public init() {}

    /// Creates the origins that a package records.
    public init(derivations: [String: Derivation], copies: [String: [String]], kept: [StoredTensor]) {
        (self.derivations, self.copies, self.kept) = (derivations, copies, kept)
    }
}

extension TensorNames {
    /// Records how a tensor was derived from tensors that were taken.
    mutating func derived(_ tensor: StoredTensor, _ derivation: Derivation) -> StoredTensor {
        origins.derivations[tensor.name] = derivation
        return tensor
    }

    /// Returns a taken tensor under another shape with as many elements.
    mutating func reshaped(_ tensor: StoredTensor, _ shape: Shape) -> StoredTensor {
        derived(
            StoredTensor(
                name: tensor.name, elementType: tensor.elementType, shape: shape, bytes: tensor.bytes,
                file: tensor.file),
            Derivation(rule: .reshape, sources: [.init(tensor)]))
    }

    /// Returns a taken matrix transposed; zeros of its shape for a survey, which reads no numbers.
    /// - Throws: `RequestError` if the address space does not suffice for these.
    mutating func transposed(_ tensor: StoredTensor) throws -> StoredTensor {
        let transposed =
            standsInForMissing
            ? StoredTensor(
                name: tensor.name, elementType: tensor.elementType, shape: Shape(tensor.shape.dimensions.reversed()),
                bytes: try .zeros(tensor.bytes.count), file: tensor.file)
            : tensor.transposed()
        return derived(transposed, Derivation(rule: .transpose, sources: [.init(tensor)]))
    }

    /// Takes a small tensor from which a table is computed.
    /// - Throws: `FormatError` as `take`, and for a number that is not finite.
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

    /// Leaves `copy` unused, because it is equal to a tensor that is taken.
    mutating func leaveOut(_ copy: StoredTensor, equalTo tensor: StoredTensor) {
        origins.copies[tensor.name] = Set((origins.copies[tensor.name] ?? []) + [copy.name]).sorted()
    }
}
