import AccelPrograms
import AccelTensors

/// A call whose operands are brought into contiguous memory: stored weights are decoded and strided inputs copied before
/// it, strided outputs written after it.
struct StagedCall {
    private(set) var call: PreparedCall?
    private(set) var before: [KernelStep] = []
    private(set) var after: [KernelStep] = []
    private(set) var remarks: [String] = []

    init() {}

    init(_ original: PreparedCall) {
        var inputs = original.inputs
        for (index, input) in inputs.enumerated() {
            if let weight = input.storedWeight {
                if let floats = weight.floatsInPlace {
                    inputs[index] = Self.contiguous(
                        input, at: original.workspace.address(of: floats, keptBy: weight), named: -1 - index)
                    remarks.append("input \(index) read where it is stored")
                } else {
                    let copy = Self.contiguous(input, in: original.workspace, named: -1 - index)
                    before.append(weight.decoding(0..<weight.rows, to: copy.location))
                    inputs[index] = copy.operand
                    remarks.append("input \(index) decoded")
                }
            } else if !input.layout.isContiguous {
                let copy = Self.contiguous(input, in: original.workspace, named: -1 - index)
                before.append(CopyKernel.step(from: input, to: copy.operand))
                inputs[index] = copy.operand
                remarks.append("input \(index) copied")
            }
        }
        var outputs = original.outputs
        for (index, output) in outputs.enumerated() where !output.layout.isContiguous {
            let copy = Self.contiguous(
                output, in: original.workspace, named: -1 - original.inputs.count - index)
            after.append(CopyKernel.step(from: copy.operand, to: output))
            outputs[index] = copy.operand
            remarks.append("output \(index) copied")
        }
        call = PreparedCall(
            operation: original.operation, label: original.label, inputs: inputs, outputs: outputs,
            workspace: original.workspace)
    }

    private static func contiguous(
        _ operand: OperandMemory, in workspace: Workspace, named name: Int
    ) -> (operand: OperandMemory, location: MemoryLocation) {
        let bytes = operand.shape.count * operand.elementType.byteCount
        let location = workspace.reserve(floats: (bytes + 3) / 4)
        return (contiguous(operand, at: location, named: name), location)
    }

    /// - Parameter name: below zero, so that no two operands of a call have the same storage by mistake.
    private static func contiguous(
        _ operand: OperandMemory, at location: MemoryLocation, named name: Int
    ) -> OperandMemory {
        OperandMemory(
            operand: Operand(
                storage: .arena(name), elementType: operand.elementType, layout: StridedLayout(shape: operand.shape)),
            location: .memory(location))
    }
}
