import AccelPrograms
import AccelTensors
import CAccelKernels

/// The operands of a linear operator, `x W^T + bias` with an activation, as all its kernels take them.
struct LinearOperands: Sendable {
    /// The operators with these operands.
    static let operators: [any Operator.Type] = [Linear.self, QuantizedLinear.self]
    /// x, contiguous.
    let source: OperandMemory
    /// Contiguous, or stored.
    let weight: OperandMemory
    /// Nil: none.
    let bias: OperandMemory?
    let target: OperandMemory
    let activation: Activation
    /// The values that are added to the result after the activation, contiguous; nil: none.
    private let residual: OperandMemory?
    /// Rows of x.
    let rows: Int
    /// Columns of x and of the weight.
    let depth: Int
    /// Columns of the result: rows of the weight.
    let width: Int
    /// How x is rounded; nil: it is not.
    let rounding: QuantizedLinear.Rounding?
    /// The range that all rows are rounded to; nil: each has its own.
    let range: ck_rounding?
    let workspace: Workspace

    /// - Throws: `Unsuitable` unless x, the bias and the result are contiguous float32 in memory.
    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? any LinearOperator else { throw Unsuitable("is for linear only") }
        (source, weight, target) = (call.inputs[0], call.inputs[1], call.outputs[0])
        (bias, residual, workspace) = (call.input("bias"), call.residual, call.workspace)
        try call.requireContiguousFloats([source, target] + [bias, residual].compactMap { $0 })
        activation = operation.activation
        rounding = (operation as? QuantizedLinear)?.rounding
        range = (operation as? QuantizedLinear)?.range.map { ck_rounding(scale: $0.scale, lowest: Int32($0.lowest)) }
        rows = source.shape.dimensions.dropLast().reduce(1, *)
        (width, depth) = (weight.shape.dimensions[0], weight.shape.dimensions[1])
    }

    /// The range in a form that is compared.
    var rangeParameters: [Int] { range.map { [Int($0.scale.bitPattern), Int($0.lowest)] } ?? [] }

    /// The weight's codes, for products with rows of 8 bits.
    /// - Throws: `Unsuitable` if x is rounded to other numbers, or the weight is not stored as integers.
    func integerCodes() throws(Unsuitable) -> (codes: IntegerCodes, weight: StoredWeight) {
        guard rounding != .bfloat16 else { throw Unsuitable("takes rows that are rounded to 8 bits only") }
        guard let weight = weight.storedWeight, let codes = IntegerCodes(weight) else {
            throw Unsuitable("takes weights stored as integers only")
        }
        return (codes, weight)
    }

    /// Adds the bias to some columns of a row of products, and finishes them.
    func finishProducts(_ columns: Range<Int>, ofRow row: Int) {
        guard let target = target.contiguousFloats else { return }
        if let bias = bias?.contiguousFloats {
            let part = target + row * width
            for column in columns { part[column] += bias[column] }
        }
        finish(columns, ofRows: row..<row + 1)
    }

    /// Applies the activation to some columns of some rows of sums, and adds the residual.
    func finish(_ columns: Range<Int>, ofRows rows: Range<Int>) {
        guard activation != .none || residual != nil, let target = target.contiguousFloats else { return }
        let residual = residual?.contiguousFloats
        for row in rows {
            let start = row * width + columns.lowerBound
            activation.apply(to: target + start, count: columns.count)
            guard let residual else { continue }
            for index in start..<start + columns.count { target[index] += residual[index] }
        }
    }
}

/// The rows of x that a kernel of float32 multiplies: x itself, or a copy of it that is rounded.
struct LinearRows: Sendable {
    private let source: OperandMemory
    /// nil: x is not rounded.
    private let rounded: SharedScratch?
    private let (count, depth): (Int, Int)
    private let range: ck_rounding?

    /// - Throws: `Unsuitable` for products of bfloat16.
    init(_ operands: LinearOperands, in workspace: Workspace) throws(Unsuitable) {
        guard operands.rounding != .bfloat16 else { throw Unsuitable("does not multiply bfloat16") }
        (source, count, depth, range) = (operands.source, operands.rows, operands.depth, operands.range)
        guard operands.rounding != nil else {
            rounded = nil
            return
        }
        rounded = workspace.reserve(
            .init("rounded floats", of: source.operand, operands.rangeParameters, floats: [count * depth]))
    }

    var floats: UnsafePointer<Float>? {
        if let rounded { return UnsafePointer(rounded.parts[0].start.assumingMemoryBound(to: Float.self)) }
        return source.contiguousFloats.map { UnsafePointer($0) }
    }

    /// The steps that have to run before `floats` is read.
    var steps: [KernelStep] {
        guard let rounded else { return [] }
        return [
            .rows(count, width: depth, fills: rounded) { rows in
                guard let source = source.contiguousFloats else { return }
                let target = rounded.parts[0].start.assumingMemoryBound(to: Float.self)
                range.withPointer { range in
                    for row in rows { ck_rounded_row(source + row * depth, depth, range, target + row * depth) }
                }
            }
        ]
    }
}

extension ck_rounding? {
    /// Calls `body` with a pointer to the range; nil without one.
    func withPointer(_ body: (UnsafePointer<ck_rounding>?) -> Void) {
        guard let range = self else { return body(nil) }
        withUnsafePointer(to: range, body)
    }
}

/// The cost of a linear operator for each weight, in units of one multiply-add of float32: a weight is decoded once for
/// panels and packed; or decoded once to the cache, where products take somewhat longer; or decoded again for each row.
enum LinearCost {
    static let (multiply, multiplyInCache, decode, pack) = (1.0, 1.2, 2.0, 3.0)
    /// Integers: multiply-adds, codes of panels, and products with codes where they are stored.
    static let (multiplyInt8, packInt8, readInt8) = (0.55, 5.0, 1.5)
    static let multiplyBFloat16 = 0.5

    static func panels(rows: Int) -> Double { decode + pack + Double(rows) * multiply }
    static func fewRows(_ rows: Int) -> Double { decode + Double(rows) * multiplyInCache }
    static func vectors(rows: Int) -> Double { Double(rows) * (decode + multiply) }
    static func bfloat16Panels(rows: Int) -> Double { decode + pack + Double(rows) * multiplyBFloat16 }
    static func int8Panels(rows: Int) -> Double { packInt8 + Double(rows) * multiplyInt8 }
    static func int8Vectors(rows: Int) -> Double { Double(rows) * readInt8 }
}
