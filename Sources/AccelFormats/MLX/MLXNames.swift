/// The names of a family's tensors in MLX, and the axes that differ from those of checkpoints.
struct MLXNames: Sendable {
    /// The prefix of the base model's names in checkpoints of models with a head, and in MLX.
    var prefix = (own: "model.", mlx: "model.")
    /// The checkpoints that MLX reads have the prefix.
    var restoresPrefix = true
    /// Modules outside of the base model.
    var outer: Set<String> = []
    /// Tensors with names of their own, after the prefix.
    var tensors: [(own: String, mlx: String)] = []
    /// Words between the dots of other names.
    var words: [(own: String, mlx: String)] = []
    /// The ends of the names of matrices that checkpoints store transposed.
    var transposed: [String] = []
    /// The kernels of convolutions, whose last axis are the inputs.
    var kernels: Set<String> = []
    /// Tensors that MLX's class computes.
    var computed: Set<String> = []
    /// Tensors of MLX that checkpoints do not have.
    var extra: Set<String> = []

    /// The names of checkpoints, all with the prefix.
    static let usual = MLXNames(outer: ["lm_head"])

    /// Whether checkpoints have other names or axes.
    var differs: Bool { prefix.own != prefix.mlx }

    /// Returns the name of a checkpoint's tensor without the prefix of the base model, which few checkpoints lack.
    func base(_ tensor: String) -> String {
        tensor.hasPrefix(prefix.own) ? String(tensor.dropFirst(prefix.own.count)) : tensor
    }

    /// Returns the name of a checkpoint's tensor in MLX, and the order of its axes there; nil if MLX computes it.
    func place(of tensor: String) -> (name: String, order: AxisOrder)? {
        let base = base(tensor)
        if outer.contains(where: { base.hasPrefix("\($0).") }) { return (base, .same) }
        guard !computed.contains(base) else { return nil }
        let known = tensors.first { $0.own == base }?.mlx
        return (prefix.mlx + (known ?? exchanged(base, words)), order(of: base))
    }

    /// Returns the name of MLX's tensor in checkpoints, and the order of its axes in MLX; nil if checkpoints do not have it.
    func tensor(named name: String) -> (name: String, order: AxisOrder)? {
        guard !extra.contains(name) else { return nil }
        guard name.hasPrefix(prefix.mlx) else { return (name, .same) }
        let rest = String(name.dropFirst(prefix.mlx.count))
        let base =
            tensors.first { $0.mlx == rest }?.own ?? exchanged(rest, words.map { (own: $0.mlx, mlx: $0.own) })
        return ((restoresPrefix ? prefix.own : "") + base, order(of: base))
    }

    private func order(of base: String) -> AxisOrder {
        if kernels.contains(base) { return .channelsLast }
        return transposed.contains { base.hasSuffix($0) } ? .transposed : .same
    }

    private func exchanged(_ name: String, _ words: [(own: String, mlx: String)]) -> String {
        name.split(separator: ".", omittingEmptySubsequences: false).map { word in
            words.first { $0.own == word }?.mlx ?? String(word)
        }.joined(separator: ".")
    }
}
