import AccelPrograms
import AccelTensors

/// Rows divided by their length, in float64.
struct L2NormKernel: Kernel {
    static let operators: [any Operator.Type] = [L2Norm.self]
    private let source: OperandMemory
    private let target: OperandMemory
    private let epsilon: Double
    private let workspace: Workspace

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? L2Norm else { throw Unsuitable("is for l2_norm only") }
        try call.requireContiguousFloats(call.inputs + call.outputs)
        (source, target, workspace) = (call.inputs[0], call.outputs[0], call.workspace)
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
                    workspace.forEachPart(of: width) { columns in
                        for column in columns { squares += Double(x[column]) * Double(x[column]) }
                    }
                    let length = max(squares.squareRoot(), epsilon)
                    workspace.forEachPart(of: width) { columns in
                        for column in columns { y[column] = Float(Double(x[column]) / length) }
                    }
                }
            }
        ]
    }
}
