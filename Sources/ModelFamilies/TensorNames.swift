import ByteIO
public import Tensors

/// Finds a checkpoint's tensors by the names that the architecture gives them, whatever spelling they are stored under,
/// and keeps account of which were taken.
///
/// Spellings: with or without the prefix of the base model (`bert.`), `gamma`/`beta` for a norm's `weight`/`bias`, and
/// `weight_g`/`weight_v` for the two factors of a normed weight.
public struct TensorNames: Sendable {
    private let checkpoint: Checkpoint
    /// Prefixes that may stand before a name, e.g. `bert.`.
    public var prefixes: [String] = []
    /// Zeros take the place of a tensor that is missing or of another shape, and `missing` lists it.
    var standsInForMissing = false
    private(set) var missing: [FamilyModel.MissingTensor] = []
    private(set) var used: Set<String> = []
    private var reasons: [(matches: @Sendable (String) -> Bool, reason: String)] = []

    public init(_ checkpoint: Checkpoint) { self.checkpoint = checkpoint }

    /// Says why tensors may stay unused; the last reason given that matches the name without its
    /// prefix counts.
    public mutating func explain(_ reason: String, where matches: @escaping @Sendable (String) -> Bool) {
        reasons.append((matches, reason))
    }

    private func spellings(of name: String) -> [String] {
        var endings = [name]
        for (new, old) in [
            ("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta"),
            ("parametrizations.weight.original0", "weight_g"), ("parametrizations.weight.original1", "weight_v"),
        ] where name.hasSuffix(new) {
            endings.append(name.dropLast(new.count) + old)
        }
        return endings.flatMap { ending in [ending] + prefixes.map { $0 + ending } }
    }

    /// The tensor, not marked as taken; nil when there is none.
    public func find(_ name: String) -> StoredTensor? {
        spellings(of: name).lazy.compactMap { checkpoint[$0] }.first
    }

    /// Takes a tensor of floating-point numbers.
    /// - Throws: `FormatError` naming the tensor when it is missing, of another shape, or no floating-point numbers.
    public mutating func take(_ name: String, _ shape: Shape) throws -> StoredTensor {
        guard let tensor = find(name) else { return try standIn(name, shape, missing(name, shape)) }
        used.insert(tensor.name)
        guard tensor.shape == shape else {
            return try standIn(
                tensor.name, shape, tensor.error("expected shape \(shape) by config.json, found \(tensor.shape)"))
        }
        guard tensor.elementType.isFloatingPoint else {
            throw tensor.error("expected floating-point numbers, found \(tensor.elementType.rawValue)")
        }
        return tensor
    }

    private mutating func standIn(_ name: String, _ shape: Shape, _ error: FormatError) throws -> StoredTensor {
        guard standsInForMissing, let count = shape.checkedCount, count < 1 << 48 else { throw error }
        if !missing.contains(where: { $0.name == name }) {
            missing.append(FamilyModel.MissingTensor(name: name, shape: shape, reason: error.reason))
        }
        return StoredTensor(name: name, elementType: .float32, shape: shape, bytes: try .zeros(count * 4))
    }

    /// The nearest names are those that share most with the end of the one wanted.
    private func missing(_ name: String, _ shape: Shape) -> FormatError {
        let near = checkpoint.tensors.map(\.name).filter { !used.contains($0) }
            .map { (name: $0, common: zip($0.reversed(), name.reversed()).prefix { $0 == $1 }.count) }
            .filter { $0.common >= 4 }
            .sorted { ($1.common, $0.name) < ($0.common, $1.name) }.prefix(3).map { "\"\($0.name)\"" }
        let hint = near.isEmpty ? "" : "; the nearest names are \(near.joined(separator: ", "))"
        return FormatError(
            file: checkpoint.folder, place: .tensor(name, index: nil),
            reason: "the checkpoint has no such tensor (expected shape \(shape))\(hint)")
    }

    /// The tensors that nothing has taken, each with the reason.
    var unused: [FamilyModel.UnusedTensor] {
        checkpoint.tensors.filter { !used.contains($0.name) }.map { tensor in
            let prefix = prefixes.first { tensor.name.hasPrefix($0) } ?? ""
            let name = String(tensor.name.dropFirst(prefix.count))
            let reason = reasons.last { $0.matches(name) }?.reason ?? "the architecture has no tensor of this name"
            return FamilyModel.UnusedTensor(name: tensor.name, reason: reason)
        }
    }
}
