import AccelByteIO
public import AccelTensors

/// Finds a checkpoint's tensors by their names in the architecture, under any known spelling, and records which ones
/// were taken.
///
/// Spellings: with or without the prefix of the base model (`bert.`), `gamma` and `beta` for a norm's `weight` and
/// `bias`, and `weight_g` and `weight_v` for the two factors of a weight-normed weight.
public struct TensorNames: Sendable {
    let checkpoint: Checkpoint
    /// Prefixes that names may have, such as `bert.`.
    public var prefixes: [String] = []
    /// The class whose head is not built; nil if the head is built, or there is none.
    var leftOutHead: String?
    /// Zeros replace a tensor that is missing or has another shape, and `missing` lists it. They stand for transposed matrices, too: the
    /// programs are for a survey, not for running.
    var standsInForMissing = false
    private(set) var missing: [FamilyModel.MissingTensor] = []
    private(set) var used: Set<String> = []
    /// Sentences for the user about the choice of tensors.
    private(set) var remarks: [String] = []
    /// By the name of a tensor that may be missing, the name of the tensor that replaces it.
    private var ties: [String: String] = [:]
    /// Derived tensors, copies, and tensors that were computed into tables.
    var origins = TensorOrigins()
    private var reasons: [(matches: @Sendable (String) -> Bool, reason: Reason)] = []

    /// Why a tensor may stay unused.
    struct Reason {
        let text: String
        /// It follows from what the user asked for, or the tensor is nothing that a model needs.
        var isExpected = false
    }

    /// Creates an empty account of a checkpoint's tensors.
    public init(_ checkpoint: Checkpoint) {
        self.checkpoint = checkpoint
        explain("positions 0, 1, 2, ..., which need no table", isExpected: true) {
            $0 == "position_ids" || $0.hasSuffix(".position_ids")
        }
        explain("counts steps of training", isExpected: true) { $0.hasSuffix(".num_batches_tracked") }
    }

    /// Declares why tensors may stay unused. If several reasons match a name without its prefix, the last one counts.
    /// - Parameter isExpected: the reason follows from what the user asked for, such as a part of the model, or the tensor is nothing
    ///   that a model needs: no warning.
    public mutating func explain(
        _ reason: String, isExpected: Bool = false, where matches: @escaping @Sendable (String) -> Bool
    ) {
        reasons.append((matches, Reason(text: reason, isExpected: isExpected)))
    }

    /// Adds a sentence for the user.
    mutating func remark(_ sentence: String) {
        if !remarks.contains(sentence) { remarks.append(sentence) }
    }

    /// Lets the tensor `other` replace `name` if the checkpoint has no tensor of that name.
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

    /// Returns a tensor without marking it as taken; nil if there is none.
    public func find(_ name: String) -> StoredTensor? {
        spellings(of: name).lazy.compactMap { checkpoint[$0] }.first
    }

    /// Returns the tensor to take, or nil. Tensors under several spellings have to be equal.
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

    /// Takes a floating-point tensor.
    /// - Throws: `FormatError` naming the tensor if it is missing, has another shape, or is not floating point.
    public mutating func take(_ name: String, _ shape: Shape) throws -> StoredTensor {
        guard let tensor = try choose(name) else { return try standIn(name, shape, missing(name, shape)) }
        used.insert(tensor.name)
        guard tensor.shape == shape else {
            let configuration = checkpoint.namedConfiguration ?? "config.json"
            return try standIn(
                tensor.name, shape,
                tensor.error("expected shape \(shape) by \(configuration), found \(tensor.shape)"))
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

    /// Returns the error for a missing tensor, with the names that share the longest ending.
    private func missing(_ name: String, _ shape: Shape) -> FormatError {
        if let hint = layersHint(name) {
            return FormatError(
                file: checkpoint.folder, location: .tensor(name, index: nil),
                reason: "the checkpoint has no such tensor (expected shape \(shape)): \(hint)")
        }
        let near = checkpoint.tensors.map(\.name).filter { !used.contains($0) }
            .map { (name: $0, common: zip($0.reversed(), name.reversed()).prefix { $0 == $1 }.count) }
            .filter { $0.common >= 4 }
            .sorted { ($1.common, $0.name) < ($0.common, $1.name) }.prefix(3).map { "\"\($0.name)\"" }
        let hint = near.isEmpty ? "" : "; the nearest names are \(near.joined(separator: ", "))"
        let origin = checkpoint.namedConfiguration.map { "; the configuration \($0) asks for it" } ?? ""
        return FormatError(
            file: checkpoint.folder, location: .tensor(name, index: nil),
            reason: "the checkpoint has no such tensor (expected shape \(shape))\(hint)\(origin)")
    }

    /// Returns a sentence on a tensor of a layer behind the last one of the checkpoint; nil for others.
    private func layersHint(_ name: String) -> String? {
        guard let match = name.firstMatch(of: /\.(\d+)\./), let number = Int(match.1), number > 0 else { return nil }
        let start = "\(name[..<match.range.lowerBound])."
        let layers = checkpoint.tensors.compactMap { tensor -> Int? in
            guard tensor.name.hasPrefix(start) else { return nil }
            return Int(tensor.name.dropFirst(start.count).prefix { $0 != "." })
        }
        guard let last = layers.max(), last < number else { return nil }
        let configuration = checkpoint.namedConfiguration ?? "config.json"
        return
            "its layers end with \(last), and \(configuration) asks for more; see that it is the one of these weights"
    }

    /// Returns why a tensor may stay unused; nil if there is no reason.
    func explanation(of name: String) -> Reason? {
        let plain = plainName(name)
        return reasons.last { $0.matches(plain) }?.reason
    }

    /// Returns a tensor's name without its prefix.
    func plainName(_ name: String) -> String {
        // The longest prefix, because one may begin with another.
        let prefix = prefixes.filter(name.hasPrefix).max { $0.count < $1.count } ?? ""
        return String(name.dropFirst(prefix.count))
    }
}
