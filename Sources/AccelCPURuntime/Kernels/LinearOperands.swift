import AccelPrograms
import AccelTensors

/// The operands of a linear operator, `x W^T + bias` with an activation, as all its kernels take them.
struct LinearOperands: Sendable {
    /// x, contiguous.
    let source: OperandMemory
    /// Contiguous, or stored.
    let weight: OperandMemory
    /// Nil: none.
    let bias: OperandMemory?
    let target: OperandMemory
    let activation: Activation
    /// Rows of x.
    let rows: Int
    /// Columns of x and of the weight.
    let depth: Int
    /// Columns of the result: rows of the weight.
    let width: Int

    /// - Throws: `Unsuitable` unless x, the bias and the result are contiguous float32 in memory.
    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? Linear else { throw Unsuitable("is for linear only") }
        (source, weight, target) = (call.inputs[0], call.inputs[1], call.outputs[0])
        bias = call.input("bias")
        try call.requireContiguousFloats([source, target] + (bias.map { [$0] } ?? []))
        activation = operation.activation
        rows = source.shape.dimensions.dropLast().reduce(1, *)
        (width, depth) = (weight.shape.dimensions[0], weight.shape.dimensions[1])
    }

    /// Adds the bias to some columns of a row of the result, and applies the activation.
    func finish(_ columns: Range<Int>, of part: UnsafeMutablePointer<Float>) {
        if let bias = bias?.contiguousFloats {
            for index in 0..<columns.count { part[index] += bias[columns.lowerBound + index] }
        }
        activation.apply(to: part, count: columns.count)
    }
}

/// The cost of a linear operator for each weight, in units of one multiply-add: a weight is decoded once for panels and
/// packed; or decoded once to the cache, where products take somewhat longer; or decoded again for each row.
enum LinearCost {
    static let (multiply, multiplyInCache, decode, pack) = (1.0, 1.2, 2.0, 3.0)

    static func panels(rows: Int) -> Double { decode + pack + Double(rows) * multiply }
    static func fewRows(_ rows: Int) -> Double { decode + Double(rows) * multiplyInCache }
    static func vectors(rows: Int) -> Double { Double(rows) * (decode + multiply) }
}
