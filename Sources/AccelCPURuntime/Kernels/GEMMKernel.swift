import AccelPrograms
import AccelTensors
import CAccelKernels

/// `x W^T + bias` with its activation. The weight is decoded and packed some panels at a time, never as a whole.
struct GEMMKernel: Kernel {
    static let operators: [any Operator.Type] = [Linear.self]
    /// Rows of x that stay in the cache while they meet several panels.
    private static let rowsAtOnce = 128
    private let source: OperandMemory
    private let panels: WeightPanels
    /// Nil: none.
    private let bias: OperandMemory?
    private let target: OperandMemory
    private let activation: Activation
    /// Rows of x.
    private let rows: Int

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? Linear else { throw Unsuitable("is for linear only") }
        panels = try WeightPanels(call.inputs[1])
        bias = call.input("bias")
        try call.requireContiguousFloats([call.inputs[0], call.outputs[0]] + (bias.map { [$0] } ?? []))
        (source, target) = (call.inputs[0], call.outputs[0])
        activation = operation.activation
        rows = source.shape.dimensions.dropLast().reduce(1, *)
    }

    var cost: Double { LinearCost.panels(rows: rows) }
    var reason: String { "\(panels.reason); each panel meets \(rows) rows" }

    var steps: [KernelStep] {
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
        guard let source = source.contiguousFloats, let target = target.contiguousFloats else { return }
        let (depth, width) = (panels.columns, panels.rows)
        let bias = bias?.contiguousFloats.map { UnsafePointer($0) + columns.lowerBound }
        let corner = target + rows.lowerBound * width + columns.lowerBound
        ck_gemm_panel(
            source + rows.lowerBound * depth, depth, rows.count, depth, panel, bias, corner, width, columns.count)
        guard activation != .none else { return }
        for row in 0..<rows.count { activation.apply(to: corner + row * width, count: columns.count) }
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
