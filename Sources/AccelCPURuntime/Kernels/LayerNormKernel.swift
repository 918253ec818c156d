import AccelPrograms
import AccelTensors
import CAccelKernels

struct LayerNormKernel: Kernel {
    static let operators: [any Operator.Type] = [LayerNorm.self]
    private let source: OperandMemory
    private let gain: OperandMemory
    /// Nil: none.
    private let shift: OperandMemory?
    private let target: OperandMemory
    private let epsilon: Double
    private let zeros: [Float]
    private let workspace: Workspace

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? LayerNorm else { throw Unsuitable("is for layer_norm only") }
        try call.requireContiguousFloats(call.inputs + call.outputs)
        (source, gain, target) = (call.inputs[0], call.inputs[1], call.outputs[0])
        workspace = call.workspace
        shift = call.input("bias")
        epsilon = operation.epsilon
        zeros = shift == nil ? [Float](repeating: 0, count: gain.shape.count) : []
    }

    var steps: [KernelStep] {
        let width = gain.shape.count
        let rows = width == 0 ? 0 : source.shape.count / width
        return [
            .rows(rows, width: width) { rows in
                guard let source = source.contiguousFloats, let target = target.contiguousFloats,
                    let gain = gain.contiguousFloats
                else { return }
                zeros.withUnsafeBufferPointer { zeros in
                    let shift = shift?.contiguousFloats.map { UnsafePointer($0) } ?? zeros.baseAddress
                    for row in rows {
                        ck_layer_norm(
                            source + row * width, gain, shift, epsilon, target + row * width, width, workspace.question)
                    }
                }
            }
        ]
    }
}
