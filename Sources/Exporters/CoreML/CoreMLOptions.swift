import Programs

/// What a Core ML package is to be.
struct CoreMLOptions: Sendable {
    enum Layout: String, CaseIterable, Sendable { case plain, ane }

    let target: CoreMLTarget
    /// What the model computes in: float16 or float32.
    let floatType: MILDataType
    let layout: Layout
    /// A weight in a form that the target cannot express is written as plain numbers.
    let allowsFallback: Bool

    /// Nothing is computed in float32: the Neural Engine has float16 only.
    var keepsHalves: Bool { layout == .ane }

    /// The operator with what it cannot say in float16 replaced by the nearest that it can: an epsilon that would be 0.
    func adapted(_ operation: any Operator) -> any Operator {
        guard keepsHalves, floatType == .float16, let norm = operation as? LayerNorm, norm.epsilon < 0x1p-14 else {
            return operation
        }
        return LayerNorm(epsilon: 0x1p-14)
    }
}
