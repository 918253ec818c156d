import AccelByteIO
public import AccelTensors

/// Finds a checkpoint's tensors by the names that the architecture gives them, whatever spelling they are stored under,
/// and keeps account of which were taken.
///
/// Spellings: with or without the prefix of the base model (`bert.`), `gamma`/`beta` for a norm's `weight`/`bias`, and
/// `weight_g`/`weight_v` for the two factors of a normed weight.
public struct TensorNames: Sendable {
    let checkpoint: Checkpoint
    /// Prefixes that may stand before a name, e.g. `bert.`.
    public var prefixes: [String] = []
    /// Zeros take the place of a tensor that is missing or of another shape, and `missing` lists it.
    var standsInForMissing = false
    private(set) var missing: [FamilyModel.MissingTensor] = []
    private(set) var used: Set<String> = []
    /// What a user should know of how tensors were chosen, in sentences.
    private(set) var remarks: [String] = []
    /// By the name of a tensor that may be missing, that of the one that then counts for it.
    private var ties: [String: String] = [:]
    /// Only tensors that were made of others, left out as copies, or computed into tables.
    var origins = TensorOrigins()
    private var reasons: [(matches: @Sendable (String) -> Bool, reason: String)] = []

    public init(_ checkpoint: Checkpoint) {
        self.checkpoint = checkpoint
        explain("positions 0, 1, 2, ..., which need no table") {
            $0 == "position_ids" || $0.hasSuffix(".position_ids")
        }
        explain("counts steps of training") { $0.hasSuffix(".num_batches_tracked") }
    }

    /// Says why tensors may stay unused; the last reason given that matches the name without its
    /// prefix counts.
    public mutating func explain(_ reason: String, where matches: @escaping @Sendable (String) -> Bool) {
        reasons.append((matches, reason))
    }

    /// Says something that a user should know.
    mutating func remark(_ sentence: String) {
        if !remarks.contains(sentence) { remarks.append(sentence) }
    }

    /// Makes the tensor `other` count for `name` where the checkpoint has none of that name.
    mutating func tie(_ name: String, to other: String) { ties[name] = other }

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

    /// The tensor to take, or nil. Where it is stored under several spellings, these have to be equal.
    private mutating func choose(_ name: String) throws -> StoredTensor? {
        guard let first = find(name) else { return ties[name].flatMap(find) }
        for spelling in spellings(of: name) where spelling != first.name {
            guard let other = checkpoint[spelling] else { continue }
            guard other.isCopy(of: first) else {
                throw other.error("differs from \"\(first.name)\", and both are names of one tensor: remove one")
            }
            leaveOut(other, equalTo: first)
        }
        return first
    }

    /// Takes a tensor of floating-point numbers.
    /// - Throws: `FormatError` naming the tensor when it is missing, of another shape, or no floating-point numbers.
    public mutating func take(_ name: String, _ shape: Shape) throws -> StoredTensor {
        guard let tensor = try choose(name) else { return try standIn(name, shape, missing(name, shape)) }
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

    /// Why a tensor may stay unused; nil: nothing says so.
    func explanation(of name: String) -> String? {
        let plain = plainName(name)
        return reasons.last { $0.matches(plain) }?.reason
    }

    /// The name of a tensor of the checkpoint without a prefix.
    func plainName(_ name: String) -> String {
        // The longest, for one prefix may begin as another does.
        let prefix = prefixes.filter(name.hasPrefix).max { $0.count < $1.count } ?? ""
        return String(name.dropFirst(prefix.count))
    }
}
