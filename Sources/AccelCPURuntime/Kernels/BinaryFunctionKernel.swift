import AccelPrograms

/// Elementwise functions of two tensors that broadcast, without a vector form: in float64, rounded once.
struct BinaryFunctionKernel: Kernel {
    static let operators: [any Operator.Type] = [Atan2.self, Modulo.self, Power.self]
    static let readsStrided = true
    private let operation: any BinaryOperator
    private let (x, y, target): (OperandMemory, OperandMemory, OperandMemory)
    private let (xRows, yRows): (StridedRows, StridedRows)

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? any BinaryOperator else {
            throw Unsuitable("is for functions of two values")
        }
        try call.require(call.inputs.allSatisfy { $0.floats != nil }, "reads no stored weight")
        try call.requireContiguousFloats(call.outputs)
        self.operation = operation
        (x, y, target) = (call.inputs[0], call.inputs[1], call.outputs[0])
        (xRows, yRows) = (x.rows(broadcastTo: target.shape), y.rows(broadcastTo: target.shape))
    }

    var reason: String { "element by element in float64, of any strides" }
    var steps: [KernelStep] { [step(operation)] }

    private func step<Function: BinaryOperator>(_ function: Function) -> KernelStep {
        let width = xRows.width
        return .blocks(xRows.count, width: width, elements: 1 << 12) { rows, columns in
            guard let x = x.floats, let y = y.floats, let target = target.contiguousFloats else { return }
            for row in rows {
                let (a, b, out) = (x + xRows.start(of: row), y + yRows.start(of: row), target + row * width)
                for column in columns {
                    out[column] = Float(function.apply(Double(a[column * xRows.step]), Double(b[column * yRows.step])))
                }
            }
        }
    }
}
