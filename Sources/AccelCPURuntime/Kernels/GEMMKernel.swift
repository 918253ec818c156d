import AccelPrograms
import AccelTensors
import CAccelKernels

/// `x W^T + bias` with its activation. The weight is decoded and packed some panels at a time, never as a whole.
struct GEMMKernel: Kernel {
    static let operators = LinearOperands.operators
    /// The fewest rows of x for which a piece decodes its panels once more.
    private static let rowsPerBlock = 128
    private let operands: LinearOperands
    private let x: LinearRows
    private let panels: WeightPanels

    init(_ call: PreparedCall) throws(Unsuitable) {
        operands = try LinearOperands(call)
        panels = try WeightPanels(operands.weight)
        x = LinearRows(operands, in: call.workspace)
    }

    var cost: Double { LinearCost.panels(rows: operands.rows) }
    var reason: String { "\(panels.reason); each panel meets \(operands.rows) rows" }

    var steps: [KernelStep] {
        let rows = operands.rows
        // Several panels share a pass over x, where they fit in the cache and enough pieces are left for all workers.
        let panelsAtOnce = max(1, min(4, (1 << 18) / max(panels.panelFloats, 1), panels.count / 8))
        let groups = (panels.count + panelsAtOnce - 1) / panelsAtOnce
        // A piece decodes its panels, so rows are divided only where panels alone leave workers idle.
        let rowBlocks = groups < 4 ? max(1, min(4, rows / Self.rowsPerBlock)) : 1
        let rowsPerBlock = (rows + rowBlocks - 1) / rowBlocks
        let scratch = panels.packed == nil ? panelsAtOnce * panels.panelFloats + panels.scratchFloats : 0
        return x.steps + [
            KernelStep(groups * rowBlocks, scratchFloats: scratch) { piece, memory in
                let group = piece / rowBlocks * panelsAtOnce
                let groupEnd = min(group + panelsAtOnce, panels.count)
                let start = piece % rowBlocks * rowsPerBlock
                multiply(
                    start..<min(start + rowsPerBlock, rows), by: panels.floats(of: group..<groupEnd, memory),
                    columns: panels.rows(of: group).lowerBound..<panels.rows(of: groupEnd - 1).upperBound)
            }
        ]
    }

    var packing: WeightPacking? { panels.packing }

    private func multiply(_ rows: Range<Int>, by panels: UnsafePointer<Float>, columns: Range<Int>) {
        guard let source = x.floats, let target = operands.target.contiguousFloats else {
            return
        }
        let (depth, width, activation) = (operands.depth, operands.width, operands.activation)
        let bias = operands.bias?.contiguousFloats.map { UnsafePointer($0) + columns.lowerBound }
        for first in stride(from: rows.lowerBound, to: rows.upperBound, by: LinearOperands.rowsAtOnce) {
            let count = min(LinearOperands.rowsAtOnce, rows.upperBound - first)
            let corner = target + first * width + columns.lowerBound
            ck_gemm_panels(source + first * depth, depth, count, depth, panels, bias, corner, width, columns.count)
            guard activation != .none else { continue }
            for row in 0..<count { activation.apply(to: corner + row * width, count: columns.count) }
        }
    }
}
