import AccelPrograms
import AccelTensors

/// Sums along an axis, in float64.
struct CumulativeSumKernel: Kernel {
    static let operators: [any Operator.Type] = [CumulativeSum.self]
    private let source: OperandMemory
    private let target: OperandMemory
    private let (outer, size, inner): (Int, Int, Int)
    private let workspace: Workspace

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? CumulativeSum else { throw Unsuitable("is for cumsum only") }
        try call.requireContiguousFloats(call.inputs + call.outputs)
        (source, target, workspace) = (call.inputs[0], call.outputs[0], call.workspace)
        (outer, size, inner) = source.shape.sections(of: operation.axis)
    }

    var steps: [KernelStep] {
        [
            .rows(outer * inner, width: size) { [size, inner, workspace] rows in
                guard let source = source.contiguousFloats, let target = target.contiguousFloats else { return }
                for row in rows {
                    let start = row / inner * size * inner + row % inner
                    var sum = 0.0
                    workspace.forEachPart(of: size) { indices in
                        for index in indices {
                            sum += Double(source[start + index * inner])
                            target[start + index * inner] = Float(sum)
                        }
                    }
                }
            }
        ]
    }
}
