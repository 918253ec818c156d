import AccelPrograms
import AccelTensors
import CAccelKernels

struct RMSNormKernel: Kernel {
    static let operators: [any Operator.Type] = [RMSNorm.self]
    private let source: OperandMemory
    private let gain: OperandMemory
    private let target: OperandMemory
    private let epsilon: Double

    init?(_ call: PreparedCall) {
        guard let operation = call.operation as? RMSNorm,
            (call.inputs + call.outputs).allSatisfy({ $0.contiguousFloats != nil })
        else { return nil }
        (source, gain, target) = (call.inputs[0], call.inputs[1], call.outputs[0])
        epsilon = operation.epsilon
    }

    func run(on workers: Workers) {
        let width = gain.shape.count
        let rows = width == 0 ? 0 : source.shape.count / width
        workers.forEachRows(rows, width: width) { rows in
            guard let source = source.contiguousFloats, let target = target.contiguousFloats,
                let gain = gain.contiguousFloats
            else { return }
            for row in rows {
                ck_rms_norm(source + row * width, gain, epsilon, target + row * width, width)
            }
        }
    }
}
