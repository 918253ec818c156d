import AccelPrograms
import AccelTensors
import CAccelKernels

/// `x W^T + bias` with its activation, for rows of x that are rounded to 8 bits and weights that are stored as integers: the
/// codes are packed to panels, some at a time, and multiplied as integers.
struct Int8GEMMKernel: Kernel {
    static let operators: [any Operator.Type] = [QuantizedLinear.self]
    private let operands: LinearOperands
    private let codes: IntegerCodes
    private let rows: RoundedRows
    /// All panels of the weight.
    private let whole: IntegerPanels
    /// Where the model has them packed; nil: they are packed some at a time.
    private let packed: PackedForm?
    private let encoding: String

    /// The layout of packed weights.
    static func layout(hasQuads: Bool) -> String { hasQuads ? "int8 quads" : "int8 pairs" }

    init(_ call: PreparedCall) throws(Unsuitable) {
        operands = try LinearOperands(call)
        guard let weight = operands.weight.storedWeight, let codes = IntegerCodes(weight) else {
            throw Unsuitable("takes weights stored as integers only")
        }
        (self.codes, encoding) = (codes, weight.encoding)
        let hasQuads = (codes.blocks == 1 || codes.block % 4 == 0) && ck_int8_wants_quads(Int32(codes.bits)) != 0
        rows = RoundedRows(operands, with: codes, stepCodes: hasQuads ? .natural : .none, in: call.workspace)
        let width = WeightPanels.width
        whole = IntegerPanels(codes, hasQuads: hasQuads, count: (operands.width + width - 1) / width)
        packed = weight.packed(Self.layout(hasQuads: hasQuads), byteCount: whole.floats * 4)
    }

    var cost: Double { LinearCost.int8Panels(rows: operands.rows) }
    var reason: String {
        "\(encoding) codes packed to panels of integers\(packed == nil ? "" : " before"); each meets "
            + "\(operands.rows) rounded rows"
    }

    var packing: WeightPacking? {
        WeightPacking(
            layout: Self.layout(hasQuads: whole.hasQuads), input: 1, byteCount: whole.floats * 4, panels: whole.count,
            scratchFloats: whole.scratchFloats
        ) { panel, memory, scratch in
            whole.pack(
                rows(of: panel), as: panel, memory.assumingMemoryBound(to: Float.self), scratch: scratch)
        }
    }

    private func rows(of panel: Int) -> Range<Int> {
        panel * WeightPanels.width..<min((panel + 1) * WeightPanels.width, operands.width)
    }

    var steps: [KernelStep] {
        let count = operands.rows
        // Several panels share a pass over x, where they fit in the cache and enough pieces are left for all workers.
        let panelBytes = ck_int8_panel_bytes(operands.depth)
        let panelsAtOnce = max(1, min(4, (1 << 19) / max(panelBytes, 1), whole.count / 8))
        let groups = (whole.count + panelsAtOnce - 1) / panelsAtOnce
        // A piece packs its panels, so rows are divided only where panels alone leave workers idle.
        let rowBlocks = groups < 4 ? max(1, min(4, count / 128)) : 1
        let rowsPerBlock = (count + rowBlocks - 1) / rowBlocks
        let some = IntegerPanels(codes, hasQuads: whole.hasQuads, count: panelsAtOnce)
        let scratchFloats = packed == nil ? some.floats + some.scratchFloats : 0
        let products = KernelStep(groups * rowBlocks, scratchFloats: scratchFloats) { piece, memory in
            let group = piece / rowBlocks * panelsAtOnce
            let panels = group..<min(group + panelsAtOnce, whole.count)
            let start = piece % rowBlocks * rowsPerBlock
            let end = min(start + rowsPerBlock, count)
            guard start < end, let target = operands.target.contiguousFloats else { return }
            var weights: ck_int8_panels
            if let packed {
                weights = whole.weights(packed.floats, from: panels.lowerBound)
            } else {
                for panel in panels {
                    some.pack(rows(of: panel), as: panel - group, memory, scratch: memory + some.floats)
                }
                weights = some.weights(memory)
            }
            let columns = rows(of: group).lowerBound..<rows(of: panels.upperBound - 1).upperBound
            var x = rows.rows
            for first in stride(from: start, to: end, by: LinearOperands.rowsAtOnce) {
                let count = min(LinearOperands.rowsAtOnce, end - first)
                let corner = target + first * operands.width + columns.lowerBound
                ck_gemm_int8(&x, first, count, &weights, columns.count, corner, operands.width)
                for row in 0..<count { operands.finish(columns, of: corner + row * operands.width) }
            }
        }
        return [rows.rounding, products]
    }
}
