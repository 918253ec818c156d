import AccelPrograms

/// What a Core ML package is to be.
struct CoreMLOptions: Sendable {
    enum Layout: String, CaseIterable, Sendable { case plain, ane }

    let target: CoreMLTarget
    /// What the model computes in: float16 or float32.
    let floatType: MILDataType
    let layout: Layout
    /// Several shapes of a part are one function.
    var enumeratesShapes = false
    /// A weight in a form that the target cannot express is written as plain numbers.
    let allowsFallback: Bool
    /// The most elements that an axis of a tensor of the Neural Engine's has.
    static let longestAxis = 16384
    /// The same for this package.
    var longestAxis = CoreMLOptions.longestAxis

    /// What sums and norms want is computed in float16 all the same: the Neural Engine has nothing else.
    var keepsHalves: Bool { layout == .ane && floatType == .float16 }

    /// The operator with what it cannot say in float16 replaced by the nearest that it can: an epsilon that would be 0.
    /// Apple's models for the Neural Engine (ml-ane-transformers) have 1e-7 there. A larger one shows: the rows of
    /// MiniLM's embeddings vary by 0.002, so that 2^-14 makes them smaller by 1.4 %.
    func adapted(_ operation: any Operator) -> any Operator {
        let least = 1e-7
        guard keepsHalves else { return operation }
        switch operation {
        case let norm as LayerNorm: return LayerNorm(epsilon: max(norm.epsilon, least))
        case let norm as RMSNorm: return RMSNorm(epsilon: max(norm.epsilon, least))
        default: return operation
        }
    }
}
