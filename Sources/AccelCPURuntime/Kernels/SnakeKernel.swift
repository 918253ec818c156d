import AccelPrograms
import AccelTensors
import CAccelKernels

/// `x + sin(alpha x)^2 / (alpha + epsilon)`; fastest where alpha is the same along each row of x.
struct SnakeKernel: Kernel {
    static let operators: [any Operator.Type] = [Snake.self]
    private static let piece = 1 << 12
    private let source: OperandMemory
    private let target: OperandMemory
    /// One a row of x.
    private let alphas: StridedRows
    private let alpha: OperandMemory
    private let epsilon: Double

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? Snake else { throw Unsuitable("is for snake only") }
        try call.requireContiguousFloats([call.inputs[0], call.outputs[0]])
        try call.require(call.inputs[1].floats != nil, "reads no stored weight")
        (source, alpha, target) = (call.inputs[0], call.inputs[1], call.outputs[0])
        epsilon = operation.epsilon
        var layout = alpha.layout
        // The operand's first element has the offset in it.
        layout.offset = 0
        alphas = StridedRows(layout.expanded(to: source.shape))
    }

    var reason: String { alphas.step == 0 ? "alpha is the same along a row" : "alpha differs along a row" }

    var steps: [KernelStep] {
        let (rows, width, step) = (alphas.count, alphas.width, alphas.step)
        let parts = (width + Self.piece - 1) / Self.piece
        return [
            KernelStep(rows * parts, scratchFloats: min(width, Self.piece)) { index, waves in
                guard let source = source.contiguousFloats, let target = target.contiguousFloats,
                    let alphaStart = alpha.floats
                else { return }
                let (row, first) = (index / parts, index % parts * Self.piece)
                let alpha = alphaStart + alphas.start(of: row) + first * step
                let (x, y) = (source + row * width + first, target + row * width + first)
                let count = min(Self.piece, width - first)
                guard step == 0 else {
                    for column in 0..<count { waves[column] = alpha[column * step] * x[column] }
                    ck_sin(waves, count)
                    for column in 0..<count {
                        let factor = Float(1 / (Double(alpha[column * step]) + epsilon))
                        y[column] = x[column] + waves[column] * waves[column] * factor
                    }
                    return
                }
                let factor = Float(1 / (Double(alpha[0]) + epsilon))
                for column in 0..<count { waves[column] = alpha[0] * x[column] }
                ck_sin(waves, count)
                for column in 0..<count { y[column] = x[column] + waves[column] * waves[column] * factor }
            }
        ]
    }
}
