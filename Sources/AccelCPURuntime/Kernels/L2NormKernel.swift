import AccelPrograms
import AccelTensors

/// Rows divided by their length, in float64.
struct L2NormKernel: Kernel {
    static let operators: [any Operator.Type] = [L2Norm.self]
    private let source: OperandMemory
    private let target: OperandMemory
    private let epsilon: Double

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? L2Norm else { throw Unsuitable("is for l2_norm only") }
        try call.requireContiguousFloats(call.inputs + call.outputs)
        (source, target) = (call.inputs[0], call.outputs[0])
        epsilon = operation.epsilon
    }

    var steps: [KernelStep] {
        let width = source.shape.dimensions[source.shape.rank - 1]
        return [
            .rows(width == 0 ? 0 : source.shape.count / width, width: width) { rows in
                guard let source = source.contiguousFloats, let target = target.contiguousFloats else { return }
                for row in rows {
                    let (x, y) = (source + row * width, target + row * width)
                    var squares = 0.0
                    for column in 0..<width { squares += Double(x[column]) * Double(x[column]) }
                    let length = max(squares.squareRoot(), epsilon)
                    for column in 0..<width { y[column] = Float(Double(x[column]) / length) }
                }
            }
        ]
    }
}
