import AccelPrograms

/// One of two tensors' elements by a third's, broadcasting.
struct SelectKernel: Kernel {
    static let operators: [any Operator.Type] = [Select.self]
    static let readsStrided = true
    private let (condition, x, y, target): (OperandMemory, OperandMemory, OperandMemory, OperandMemory)
    private let (conditionRows, xRows, yRows): (StridedRows, StridedRows, StridedRows)

    init(_ call: PreparedCall) throws(Unsuitable) {
        try call.require(call.inputs.allSatisfy(\.isInMemory), "reads no stored weight")
        try call.requireContiguousFloats(call.outputs)
        (condition, x, y, target) = (call.inputs[0], call.inputs[1], call.inputs[2], call.outputs[0])
        conditionRows = condition.rows(broadcastTo: target.shape)
        (xRows, yRows) = (x.rows(broadcastTo: target.shape), y.rows(broadcastTo: target.shape))
    }

    var reason: String { "operands in memory, of any strides" }

    var steps: [KernelStep] {
        let width = xRows.width
        return [
            .blocks(xRows.count, width: width) { rows, columns in
                guard let condition = condition.start(as: UInt8.self), let x = x.floats, let y = y.floats,
                    let target = target.contiguousFloats
                else { return }
                let (step, xStep, yStep) = (conditionRows.step, xRows.step, yRows.step)
                for row in rows {
                    let flags = condition + conditionRows.start(of: row)
                    let (a, b, out) = (x + xRows.start(of: row), y + yRows.start(of: row), target + row * width)
                    for column in columns {
                        out[column] = flags[column * step] != 0 ? a[column * xStep] : b[column * yStep]
                    }
                }
            }
        ]
    }
}
