import AccelPrograms
import AccelTensors
import CAccelKernels

/// `x W^T + bias` with its activation for a few rows of x: some rows of the weight are decoded to the cache, where they
/// are not float32, and multiplied with all rows of x. No panels are packed, which would take longer than so few products.
struct SmallGEMMKernel: Kernel {
    static let operators = LinearOperands.operators
    private let operands: LinearOperands
    private let x: LinearRows
    private let weight: WeightRows

    init(_ call: PreparedCall) throws(Unsuitable) {
        operands = try LinearOperands(call)
        weight = try WeightRows(operands.weight)
        x = try LinearRows(operands, in: call.workspace)
    }

    var cost: Double { LinearCost.fewRows(operands.rows) }
    var reason: String {
        weight.encoding + (weight.areDecoded ? " rows decoded to the cache" : " rows read where they are")
            + "; each meets \(operands.rows) rows"
    }

    var steps: [KernelStep] {
        let (depth, width, rows) = (operands.depth, operands.width, operands.rows)
        let columnsAtOnce = weight.countAtOnce
        return x.steps + [
            KernelStep(
                (width + columnsAtOnce - 1) / columnsAtOnce, scratchFloats: weight.scratchFloats(rows: columnsAtOnce)
            ) { piece, scratch in
                let columns = piece * columnsAtOnce..<min((piece + 1) * columnsAtOnce, width)
                guard let source = x.floats, let target = operands.target.contiguousFloats,
                    let weights = weight.floats(of: columns, scratch: scratch)
                else { return }
                let corner = target + columns.lowerBound
                ck_dot_many(source, depth, rows, weights, depth, columns.count, depth, corner, width)
                for row in 0..<rows { operands.finishProducts(columns, ofRow: row) }
            }
        ]
    }
}
