import AccelPrograms
import AccelTensors
import CAccelKernels

struct SoftmaxKernel: Kernel {
    static let operators: [any Operator.Type] = [Softmax.self]
    private let source: OperandMemory
    private let target: OperandMemory
    private let workspace: Workspace

    init(_ call: PreparedCall) throws(Unsuitable) {
        try call.requireContiguousFloats(call.inputs + call.outputs)
        (source, target, workspace) = (call.inputs[0], call.outputs[0], call.workspace)
    }

    var steps: [KernelStep] {
        let width = source.shape.dimensions.last ?? 1
        let rows = width == 0 ? 0 : source.shape.count / width
        return [
            .rows(rows, width: width) { rows in
                guard let source = source.contiguousFloats, let target = target.contiguousFloats else { return }
                for row in rows {
                    let (x, y) = (source + row * width, target + row * width)
                    workspace.forEachPart(of: width) {
                        (y + $0.lowerBound).update(from: x + $0.lowerBound, count: $0.count)
                    }
                    ck_softmax(y, width, workspace.question)
                }
            }
        ]
    }
}
