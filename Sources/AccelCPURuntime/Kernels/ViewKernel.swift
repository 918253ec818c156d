import AccelPrograms
import AccelTensors

/// Another look at a tensor's memory, copied: where a plan cannot do without a call, as of a stored weight.
struct ViewKernel: Kernel {
    static let operators: [any Operator.Type] = [Expand.self, Reshape.self, Slice.self, Transpose.self]
    private let source: OperandMemory
    private let target: OperandMemory

    init(_ call: PreparedCall) throws(Unsuitable) {
        try call.require(call.inputs[0].isInMemory, "reads no stored weight")
        guard let layout = call.operation.view(of: call.inputs[0].layout) else {
            throw Unsuitable("the strides allow no view")
        }
        var operand = call.inputs[0].operand
        operand.layout = layout
        source = OperandMemory(operand: operand, location: call.inputs[0].location)
        target = call.outputs[0]
    }

    var cost: Double { 2 }
    var reason: String { "elements copied, of any strides" }
    var steps: [KernelStep] { [CopyKernel.step(from: source, to: target)] }
}
