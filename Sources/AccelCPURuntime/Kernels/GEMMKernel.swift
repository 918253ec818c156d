import AccelPrograms
import AccelTensors
import CAccelKernels

/// `x W^T + bias` with its activation. The weight is decoded and packed some panels at a time, never as a whole.
struct GEMMKernel: Kernel {
    static let operators: [any Operator.Type] = [Linear.self]
    /// Rows of x that stay in the cache while they meet several panels.
    private static let rowsAtOnce = 128
    private let operands: LinearOperands
    private let panels: WeightPanels

    init(_ call: PreparedCall) throws(Unsuitable) {
        operands = try LinearOperands(call)
        panels = try WeightPanels(operands.weight)
    }

    var cost: Double { LinearCost.panels(rows: operands.rows) }
    var reason: String { "\(panels.reason); each panel meets \(operands.rows) rows" }

    var steps: [KernelStep] {
        let rows = operands.rows
        // With many rows, several panels share a pass over x; with few, each panel is a piece of its own.
        let panelsAtOnce = rows > 2 * Self.rowsAtOnce ? max(1, min(4, (1 << 18) / max(panels.panelFloats, 1))) : 1
        let groups = (panels.count + panelsAtOnce - 1) / panelsAtOnce
        // A piece decodes its panels, so rows are divided only where panels alone leave workers idle.
        let rowBlocks = groups < 4 ? max(1, min(4, rows / Self.rowsAtOnce)) : 1
        let rowsPerBlock = (rows + rowBlocks - 1) / rowBlocks
        let scratch = panelsAtOnce * panels.panelFloats + panels.scratchFloats
        return [
            KernelStep(groups * rowBlocks, scratchFloats: scratch) { piece, memory in
                let group = piece / rowBlocks * panelsAtOnce
                let groupEnd = min(group + panelsAtOnce, panels.count)
                let start = piece % rowBlocks * rowsPerBlock
                let spare = memory + panelsAtOnce * panels.panelFloats
                for panel in group..<groupEnd {
                    panels.pack(panel, into: memory + (panel - group) * panels.panelFloats, scratch: spare)
                }
                let end = min(start + rowsPerBlock, rows)
                for row in stride(from: start, to: end, by: Self.rowsAtOnce) {
                    for panel in group..<groupEnd {
                        multiply(
                            row..<min(row + Self.rowsAtOnce, end),
                            by: memory + (panel - group) * panels.panelFloats, columns: panels.rows(of: panel))
                    }
                }
            }
        ]
    }

    private func multiply(_ rows: Range<Int>, by panel: UnsafePointer<Float>, columns: Range<Int>) {
        guard let source = operands.source.contiguousFloats, let target = operands.target.contiguousFloats else {
            return
        }
        let (depth, width, activation) = (operands.depth, operands.width, operands.activation)
        let bias = operands.bias?.contiguousFloats.map { UnsafePointer($0) + columns.lowerBound }
        let corner = target + rows.lowerBound * width + columns.lowerBound
        ck_gemm_panel(
            source + rows.lowerBound * depth, depth, rows.count, depth, panel, bias, corner, width, columns.count)
        guard activation != .none else { return }
        for row in 0..<rows.count { activation.apply(to: corner + row * width, count: columns.count) }
    }
}
