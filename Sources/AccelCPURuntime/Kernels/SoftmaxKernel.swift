import AccelPrograms
import AccelTensors
import CAccelKernels

struct SoftmaxKernel: Kernel {
    static let operators: [any Operator.Type] = [Softmax.self]
    private let source: OperandMemory
    private let target: OperandMemory

    init(_ call: PreparedCall) throws(Unsuitable) {
        try call.requireContiguousFloats(call.inputs + call.outputs)
        (source, target) = (call.inputs[0], call.outputs[0])
    }

    var steps: [KernelStep] {
        let width = source.shape.dimensions.last ?? 1
        let rows = width == 0 ? 0 : source.shape.count / width
        return [
            .rows(rows, width: width) { rows in
                guard let source = source.contiguousFloats, let target = target.contiguousFloats else { return }
                for row in rows {
                    (target + row * width).update(from: source + row * width, count: width)
                    ck_softmax(target + row * width, width)
                }
            }
        ]
    }
}
