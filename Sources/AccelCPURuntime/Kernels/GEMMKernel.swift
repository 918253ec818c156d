import AccelPrograms
import AccelTensors
import CAccelKernels

/// `x W^T + bias` with its activation. The weight is decoded and packed some panels at a time, unless the model has it packed.
struct GEMMKernel: Kernel {
    static let operators = LinearOperands.operators
    private let operands: LinearOperands
    private let x: LinearRows
    private let panels: WeightPanels

    init(_ call: PreparedCall) throws(Unsuitable) {
        operands = try LinearOperands(call)
        panels = try WeightPanels(operands.weight)
        x = try LinearRows(operands, in: call.workspace)
    }

    var cost: Double { LinearCost.panels(rows: operands.rows) }
    var reason: String { "\(panels.reason); each panel meets \(operands.rows) rows" }
    var packing: WeightPacking? { panels.packing }

    var steps: [KernelStep] {
        let pieces = PanelPieces(
            panels: panels.count, rows: operands.rows, fitting: (1 << 18) / max(panels.panelFloats, 1),
            in: operands.workspace)
        let scratch = panels.packed == nil ? pieces.panelsAtOnce * panels.panelFloats + panels.scratchFloats : 0
        return x.steps + [
            KernelStep(pieces.count, scratchFloats: scratch) { piece, memory in
                let group = pieces.panels(of: piece)
                let floats = panels.floats(of: group, memory)
                let columns = Panels.rows(of: group, among: operands.width)
                pieces.forEachRows(of: piece) { multiply($0, by: floats, columns: columns) }
            }
        ]
    }

    private func multiply(_ rows: Range<Int>, by panels: UnsafePointer<Float>, columns: Range<Int>) {
        guard let source = x.floats, let target = operands.target.contiguousFloats else {
            return
        }
        let (depth, width) = (operands.depth, operands.width)
        let bias = operands.bias?.contiguousFloats.map { UnsafePointer($0) + columns.lowerBound }
        let corner = target + rows.lowerBound * width + columns.lowerBound
        ck_gemm_panels(
            source + rows.lowerBound * depth, depth, rows.count, depth, panels, bias, corner, width, columns.count)
        operands.finish(columns, ofRows: rows)
    }
}
