import AccelPrograms
import AccelTensors
import CAccelKernels

/// `x W^T + bias` with its activation, for rows of x that are rounded to 8 bits and weights that are stored as integers: the
/// codes are packed to panels, some at a time, and multiplied as integers.
struct Int8GEMMKernel: Kernel {
    static let operators: [any Operator.Type] = [QuantizedLinear.self]
    private let operands: LinearOperands
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
        let (codes, weight) = try operands.integerCodes()
        encoding = weight.encoding
        let hasQuads = (codes.blocks == 1 || codes.block % 4 == 0) && ck_int8_wants_quads(Int32(codes.bits)) != 0
        rows = RoundedRows(operands, with: codes, stepCodes: hasQuads ? .natural : .none, in: call.workspace)
        whole = IntegerPanels(codes, hasQuads: hasQuads, count: Panels.count(rows: operands.width))
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
                Panels.rows(of: panel..<panel + 1, among: operands.width), as: panel,
                memory.assumingMemoryBound(to: Float.self), scratch: scratch)
        }
    }

    var steps: [KernelStep] {
        let panelBytes = ck_int8_panel_bytes(operands.depth)
        let pieces = PanelPieces(
            panels: whole.count, rows: operands.rows, fitting: (1 << 19) / max(panelBytes, 1), in: operands.workspace)
        let some = IntegerPanels(whole.codes, hasQuads: whole.hasQuads, count: pieces.panelsAtOnce)
        let scratchFloats = packed == nil ? some.floats + some.scratchFloats : 0
        let products = KernelStep(pieces.count, scratchFloats: scratchFloats) { piece, memory in
            guard let target = operands.target.contiguousFloats else { return }
            let group = pieces.panels(of: piece)
            let columns = Panels.rows(of: group, among: operands.width)
            var (x, weights) = (rows.rows, panels(group, some, memory))
            let bias = operands.bias?.contiguousFloats.map { UnsafePointer($0) + columns.lowerBound }
            pieces.forEachRows(of: piece) { part in
                let corner = target + part.lowerBound * operands.width + columns.lowerBound
                ck_gemm_int8(&x, part.lowerBound, part.count, &weights, bias, columns.count, corner, operands.width)
                operands.finish(columns, ofRows: part)
            }
        }
        return [rows.rounding, products]
    }

    /// The panels of a group, packed to memory as `some` unless the model has them.
    private func panels(
        _ group: Range<Int>, _ some: IntegerPanels, _ memory: UnsafeMutablePointer<Float>
    ) -> ck_int8_panels {
        if let packed { return whole.weights(packed.floats, from: group.lowerBound) }
        for panel in group {
            some.pack(
                Panels.rows(of: panel..<panel + 1, among: operands.width), as: panel - group.lowerBound, memory,
                scratch: memory + some.floats)
        }
        return some.weights(memory)
    }
}
