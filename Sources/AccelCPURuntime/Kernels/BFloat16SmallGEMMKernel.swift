import AccelPrograms
import AccelTensors
import CAccelKernels

/// `x W^T + bias` with its activation, for a few rows of x that are rounded to bfloat16, as in a decode step: some rows of the
/// weight are decoded to the cache, rounded, and multiplied with all rows of x. Weights that are stored as bfloat16 are multiplied
/// where they lie, by the kernels for float32.
struct BFloat16SmallGEMMKernel: Kernel {
    static let operators: [any Operator.Type] = [QuantizedLinear.self]
    private let operands: LinearOperands
    private let weight: WeightRows
    /// The rows of x, rounded, as float32.
    private let rounded: MemoryLocation

    init(_ call: PreparedCall) throws(Unsuitable) {
        operands = try LinearOperands(call)
        guard operands.rounding == .bfloat16 else { throw Unsuitable("takes rows that are rounded to bfloat16 only") }
        weight = try WeightRows(operands.weight)
        rounded = call.workspace.reserve(floats: operands.rows * operands.depth)
    }

    var cost: Double { LinearCost.bfloat16FewRows(operands.rows) }
    var reason: String { "\(weight.encoding) rows rounded to bfloat16 in the cache; each meets \(operands.rows) rows" }

    var steps: [KernelStep] {
        let (depth, width, rows) = (operands.depth, operands.width, operands.rows)
        let columnsAtOnce = weight.countAtOnce
        let rounding = KernelStep.rows(rows, width: depth) { rows in
            guard let source = operands.source.contiguousFloats else { return }
            let first = rows.lowerBound * depth
            ck_bf16_rounded(source + first, rows.count * depth, x + first)
        }
        let products = KernelStep(
            (width + columnsAtOnce - 1) / columnsAtOnce,
            scratchFloats: columnsAtOnce * depth + weight.scratchFloats(rows: columnsAtOnce)
        ) { piece, scratch in
            let columns = piece * columnsAtOnce..<min((piece + 1) * columnsAtOnce, width)
            guard let target = operands.target.contiguousFloats,
                let decoded = weight.floats(of: columns, scratch: scratch + columnsAtOnce * depth)
            else { return }
            ck_bf16_rounded(decoded, columns.count * depth, scratch)
            let corner = target + columns.lowerBound
            ck_dot_many(x, depth, rows, scratch, depth, columns.count, depth, corner, width)
            for row in 0..<rows { operands.finish(columns, of: corner + row * width) }
        }
        return [rounding, products]
    }

    private var x: UnsafeMutablePointer<Float> { rounded.start.assumingMemoryBound(to: Float.self) }
}
