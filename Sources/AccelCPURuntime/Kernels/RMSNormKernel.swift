import AccelPrograms
import AccelTensors
import CAccelKernels

struct RMSNormKernel: Kernel {
    static let operators: [any Operator.Type] = [RMSNorm.self]
    private let source: OperandMemory
    private let gain: OperandMemory
    private let target: OperandMemory
    private let epsilon: Double
    private let workspace: Workspace

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? RMSNorm else { throw Unsuitable("is for rms_norm only") }
        try call.requireContiguousFloats(call.inputs + call.outputs)
        (source, gain, target) = (call.inputs[0], call.inputs[1], call.outputs[0])
        workspace = call.workspace
        epsilon = operation.epsilon
    }

    var steps: [KernelStep] {
        let width = gain.shape.count
        let rows = width == 0 ? 0 : source.shape.count / width
        return [
            .rows(rows, width: width) { rows in
                guard let source = source.contiguousFloats, let target = target.contiguousFloats,
                    let gain = gain.contiguousFloats
                else { return }
                for row in rows {
                    ck_rms_norm(source + row * width, gain, epsilon, target + row * width, width, workspace.question)
                }
            }
        ]
    }
}
