import AccelPrograms
import AccelTensors
import CAccelKernels

/// `x W^T + bias` with its activation for few rows of x, as in a decode step: the rows of the weight are multiplied in
/// registers while they are decoded, and no panels are packed.
struct GEMVKernel: Kernel {
    static let operators = LinearOperands.operators
    private let operands: LinearOperands
    private let x: LinearRows
    private let product: any VectorProduct
    /// The rows of x in the order in which codes of four bits are read.
    private let interleaved: SharedScratch

    init(_ call: PreparedCall) throws(Unsuitable) {
        operands = try LinearOperands(call)
        guard let weight = operands.weight.storedWeight else { throw Unsuitable("takes stored weights only") }
        product = VectorProducts.product(of: weight)
        x = try LinearRows(operands, in: call.workspace)
        let floats = product.readsInterleaved ? operands.rows * ck_interleaved_count(operands.depth) : 0
        let rounding = operands.rounding == nil ? [] : [1] + operands.rangeParameters
        interleaved = call.workspace.reserve(
            .init("interleaved", of: operands.source.operand, rounding, floats: [floats]))
    }

    var cost: Double { LinearCost.vectors(rows: operands.rows) }
    var reason: String { product.reason + "; \(operands.rows == 1 ? "1 row" : "\(operands.rows) rows") of input" }

    var steps: [KernelStep] {
        let (depth, width, rows) = (operands.depth, operands.width, operands.rows)
        // Some 32 KB of codes of 4 bits, in whole groups of rows that share a palette.
        let columnsAtOnce = max(16, (1 << 16) / max(depth, 1) / 16 * 16)
        let interleave = KernelStep(product.readsInterleaved ? 1 : 0, fills: interleaved) { _, _ in
            guard let source = x.floats else { return }
            for row in 0..<rows { ck_interleave(source + row * depth, depth, interleaved(row)) }
        }
        let multiply = KernelStep(
            (width + columnsAtOnce - 1) / columnsAtOnce,
            scratchFloats: product.scratchFloats(rows: min(columnsAtOnce, max(width, 1)))
        ) { piece, scratch in
            guard let source = x.floats, let target = operands.target.contiguousFloats else {
                return
            }
            let columns = piece * columnsAtOnce..<min((piece + 1) * columnsAtOnce, width)
            for row in 0..<rows {
                let part = target + row * width + columns.lowerBound
                product.multiply(
                    columns, with: DotVector(floats: source + row * depth, interleaved: interleaved(row)), into: part,
                    scratch: scratch)
                operands.finishProducts(columns, ofRow: row)
            }
        }
        return x.steps + [interleave, multiply]
    }

    private func interleaved(_ row: Int) -> UnsafeMutablePointer<Float> {
        interleaved.parts[0].start.assumingMemoryBound(to: Float.self) + row * ck_interleaved_count(operands.depth)
    }
}
