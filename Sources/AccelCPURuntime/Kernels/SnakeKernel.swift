import AccelPrograms
import AccelTensors
import AccelWeightCompression
import CAccelKernels

/// `x + sin(alpha x)^2 / (alpha + epsilon)` where alpha is the same along each row of x.
struct SnakeKernel: Kernel {
    static let operators: [any Operator.Type] = [Snake.self]
    private static let piece = 1 << 12
    private let source: OperandMemory
    private let target: OperandMemory
    /// One a row of x.
    private let alphas: StridedRows
    private let alpha: OperandMemory
    private let stored: [Float]
    private let epsilon: Double

    init?(_ call: PreparedCall) {
        guard let operation = call.operation as? Snake, call.inputs[0].contiguousFloats != nil,
            call.outputs[0].contiguousFloats != nil, call.inputs[1].operand.elementType == .float32
        else { return nil }
        (source, alpha, target) = (call.inputs[0], call.inputs[1], call.outputs[0])
        epsilon = operation.epsilon
        var layout = alpha.layout
        switch alpha.place {
        case .memory:
            stored = []
            layout.offset = 0
        case .weight(let weight):
            guard layout.offset == 0, layout.isContiguous else { return nil }
            stored = weight.floats()
        }
        alphas = StridedRows(layout.expanded(to: source.shape))
        guard alphas.step == 0 else { return nil }
    }

    func run(on workers: Workers) {
        let (rows, width) = (alphas.count, alphas.width)
        let parts = (width + Self.piece - 1) / Self.piece
        workers.forEach(rows * parts, scratchFloats: min(width, Self.piece)) { index, waves in
            guard let source = source.contiguousFloats, let target = target.contiguousFloats else { return }
            let (row, first) = (index / parts, index % parts * Self.piece)
            let place = alphas.start(of: row)
            let alpha = stored.isEmpty ? alpha.floats?[place] ?? 0 : stored[place]
            let factor = Float(1 / (Double(alpha) + epsilon))
            let (x, y) = (source + row * width + first, target + row * width + first)
            let count = min(Self.piece, width - first)
            for column in 0..<count { waves[column] = alpha * x[column] }
            ck_sin(waves, count)
            for column in 0..<count { y[column] = x[column] + waves[column] * waves[column] * factor }
        }
    }
}
