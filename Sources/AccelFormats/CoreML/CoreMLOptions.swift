import AccelPrograms

/// The resolved options of a Core ML export.
struct CoreMLOptions: Sendable {
    enum Layout: String, CaseIterable, Sendable { case plain, ane }

    let target: CoreMLTarget
    /// The type of activations: float16 or float32.
    let floatType: MILDataType
    let layout: Layout
    /// Whether several shapes of a part become one function with enumerated input shapes.
    var enumeratesShapes = false
    /// Whether a weight with an unsupported scheme is written as plain numbers.
    let allowsFallback: Bool
    /// The Neural Engine's limit of elements along an axis of a tensor.
    static let longestAxis = 16384
    /// The limit for this package.
    var longestAxis = CoreMLOptions.longestAxis
    /// The types of floating-point inputs and outputs: float32 or float16. States are float16 in any case.
    var inputType = MILDataType.float32, outputType = MILDataType.float32

    /// Whether sums and norms are computed in float16 too, because the Neural Engine supports nothing else.
    var keepsHalves: Bool { layout == .ane && floatType == .float16 }

    /// Returns the operator with an epsilon that float16 can hold, where a smaller one would round to 0. Apple's models for
    /// the Neural Engine (ml-ane-transformers) use 1e-7 as well. A larger epsilon changes results: rows of MiniLM's
    /// embeddings vary by 0.002, so that 2^-14 makes them smaller by 1.4 %.
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
