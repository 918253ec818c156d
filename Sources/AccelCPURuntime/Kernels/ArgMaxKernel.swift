import AccelPrograms
import AccelTensors

/// The index of the largest element on an axis.
struct ArgMaxKernel: Kernel {
    static let operators: [any Operator.Type] = [ArgMax.self]
    private let source: OperandMemory
    private let target: OperandMemory
    private let (outer, size, inner): (Int, Int, Int)
    private let workspace: Workspace

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? ArgMax else { throw Unsuitable("is for argmax only") }
        try call.requireContiguousFloats(call.inputs)
        try call.require(call.outputs[0].layout.isContiguous, "writes contiguous memory only")
        (source, target, workspace) = (call.inputs[0], call.outputs[0], call.workspace)
        (outer, size, inner) = source.shape.sections(of: operation.axis)
    }

    var steps: [KernelStep] {
        [
            .rows(outer * inner, width: size) { [size, inner, workspace] rows in
                guard let source = source.contiguousFloats, let target = target.start(as: Int64.self) else { return }
                for row in rows {
                    let x = source + row / inner * size * inner + row % inner
                    var (best, largest) = (0, -Float.infinity)
                    workspace.forEachPart(of: size) { indices in
                        for index in indices where !largest.isNaN {
                            let value = x[index * inner]
                            if value > largest || value.isNaN { (best, largest) = (index, value) }
                        }
                    }
                    target[row] = Int64(best)
                }
            }
        ]
    }
}

extension Shape {
    /// The shape as [outer, size of an axis, inner].
    func sections(of axis: Int) -> (outer: Int, size: Int, inner: Int) {
        (dimensions[..<axis].reduce(1, *), dimensions[axis], dimensions[(axis + 1)...].reduce(1, *))
    }
}
