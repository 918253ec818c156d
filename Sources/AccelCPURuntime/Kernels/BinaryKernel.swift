import AccelPrograms

/// Elementwise functions of two tensors that broadcast.
struct BinaryKernel: Kernel {
    static let operators: [any Operator.Type] = [
        Add.self, Divide.self, Maximum.self, Minimum.self, Multiply.self, Subtract.self,
    ]
    private let operation: any Operator
    private let x: OperandMemory
    private let y: OperandMemory
    private let target: OperandMemory
    /// The operands broadcast to the output's shape, row by row.
    private let xRows: StridedRows
    private let yRows: StridedRows

    init?(_ call: PreparedCall) {
        guard call.inputs.count == 2, call.inputs[0].floats != nil, call.inputs[1].floats != nil,
            call.outputs[0].contiguousFloats != nil
        else { return nil }
        operation = call.operation
        (x, y, target) = (call.inputs[0], call.inputs[1], call.outputs[0])
        // Rows start at the operand's first element: `floats` has the offset in it.
        func rows(_ operand: OperandMemory) -> StridedRows {
            var layout = operand.layout.expanded(to: call.outputs[0].shape)
            layout.offset = 0
            return StridedRows(layout)
        }
        xRows = rows(x)
        yRows = rows(y)
    }

    func run(on workers: Workers) {
        switch operation {
        case is Add: combine(Sum.self, on: workers)
        case is Subtract: combine(Difference.self, on: workers)
        case is Multiply: combine(Product.self, on: workers)
        case is Divide: combine(Quotient.self, on: workers)
        case is Maximum: combine(Larger.self, on: workers)
        default: combine(Smaller.self, on: workers)
        }
    }

    private func combine<Function: PairFunction>(_ function: Function.Type, on workers: Workers) {
        let width = xRows.width
        workers.forEachRows(xRows.count, width: width) { rows in
            guard let xStart = x.floats, let yStart = y.floats, let target = target.contiguousFloats else { return }
            for row in rows {
                let (x, y) = (xStart + xRows.start(of: row), yStart + yRows.start(of: row))
                let out = target + row * width
                switch (xRows.step, yRows.step) {
                case (1, 1): for column in 0..<width { out[column] = Function.apply(x[column], y[column]) }
                case (1, 0): for column in 0..<width { out[column] = Function.apply(x[column], y[0]) }
                case (0, 1): for column in 0..<width { out[column] = Function.apply(x[0], y[column]) }
                case (let xStep, let yStep):
                    for column in 0..<width { out[column] = Function.apply(x[column * xStep], y[column * yStep]) }
                }
            }
        }
    }
}

/// A function as a type, so that the loops above are compiled for it. Each is exact in float32 or rounded once, as the
/// reference is.
private protocol PairFunction: Sendable {
    static func apply(_ x: Float, _ y: Float) -> Float
}

private enum Sum: PairFunction {
    static func apply(_ x: Float, _ y: Float) -> Float { x + y }
}
private enum Difference: PairFunction {
    static func apply(_ x: Float, _ y: Float) -> Float { x - y }
}
private enum Product: PairFunction {
    static func apply(_ x: Float, _ y: Float) -> Float { x * y }
}
private enum Quotient: PairFunction {
    static func apply(_ x: Float, _ y: Float) -> Float { x / y }
}
private enum Larger: PairFunction {
    static func apply(_ x: Float, _ y: Float) -> Float { x > y || x.isNaN ? x : y }
}
private enum Smaller: PairFunction {
    static func apply(_ x: Float, _ y: Float) -> Float { x < y || x.isNaN ? x : y }
}
