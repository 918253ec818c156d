import AccelPrograms

/// Elementwise functions of two tensors that broadcast.
struct BinaryKernel: Kernel {
    static let operators: [any Operator.Type] = [
        Add.self, Divide.self, Maximum.self, Minimum.self, Multiply.self, Subtract.self,
    ]
    static let readsStrided = true
    private let operation: any Operator
    private let x: OperandMemory
    private let y: OperandMemory
    private let target: OperandMemory
    /// The operands broadcast to the output's shape, row by row.
    private let xRows: StridedRows
    private let yRows: StridedRows

    init(_ call: PreparedCall) throws(Unsuitable) {
        try call.require(call.inputs.allSatisfy { $0.floats != nil }, "reads no stored weight")
        try call.requireContiguousFloats(call.outputs)
        operation = call.operation
        (x, y, target) = (call.inputs[0], call.inputs[1], call.outputs[0])
        xRows = x.rows(broadcastTo: target.shape)
        yRows = y.rows(broadcastTo: target.shape)
    }

    var reason: String { "operands in memory, of any strides" }

    var steps: [KernelStep] {
        switch operation {
        case is Add: [combining(Sum.self)]
        case is Subtract: [combining(Difference.self)]
        case is Multiply: [combining(Product.self)]
        case is Divide: [combining(Quotient.self)]
        case is Maximum: [combining(Larger.self)]
        default: [combining(Smaller.self)]
        }
    }

    private func combining<Function: PairFunction>(_ function: Function.Type) -> KernelStep {
        let width = xRows.width
        return .blocks(xRows.count, width: width) { rows, columns in
            guard let xStart = x.floats, let yStart = y.floats, let target = target.contiguousFloats else { return }
            for row in rows {
                let (x, y) = (xStart + xRows.start(of: row), yStart + yRows.start(of: row))
                let out = target + row * width
                switch (xRows.step, yRows.step) {
                case (1, 1): for column in columns { out[column] = Function.apply(x[column], y[column]) }
                case (1, 0): for column in columns { out[column] = Function.apply(x[column], y[0]) }
                case (0, 1): for column in columns { out[column] = Function.apply(x[0], y[column]) }
                case (let xStep, let yStep):
                    for column in columns { out[column] = Function.apply(x[column * xStep], y[column * yStep]) }
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
