import AccelPrograms
import AccelTensors
import CAccelKernels

/// `x W^T + bias` with its activation, for x and a weight that are rounded to bfloat16: the weight is decoded, rounded and packed
/// to panels, some at a time, unless the model has it packed.
struct BFloat16GEMMKernel: Kernel {
    static let operators: [any Operator.Type] = [QuantizedLinear.self]
    private let operands: LinearOperands
    private let panels: BFloat16Panels
    /// The rows of x, rounded.
    private let rounded: SharedScratch

    init(_ call: PreparedCall) throws(Unsuitable) {
        operands = try LinearOperands(call)
        guard operands.rounding == .bfloat16 else { throw Unsuitable("takes rows that are rounded to bfloat16 only") }
        panels = try BFloat16Panels(operands.weight)
        rounded = call.workspace.reserve(
            .init(
                "bfloat16", of: operands.source.operand, floats: [operands.rows * ck_bf16_stride(operands.depth) / 2]))
    }

    var cost: Double { LinearCost.bfloat16Panels(rows: operands.rows) }
    var reason: String { "\(panels.reason) (\(Self.instructionSet)); each meets \(operands.rows) rounded rows" }
    var packing: WeightPacking? { panels.packing }

    /// The instructions that multiply.
    private static var instructionSet: String {
        ck_has_bf16_products() == 0 ? VectorProducts.instructionSet : "products of bfloat16"
    }

    var steps: [KernelStep] {
        let (depth, width, stride) = (operands.depth, operands.width, ck_bf16_stride(operands.depth))
        let pieces = PanelPieces(
            panels: panels.count, rows: operands.rows, fitting: (1 << 18) / max(panels.panelFloats, 1),
            in: operands.workspace)
        let scratchFloats = panels.packed == nil ? pieces.panelsAtOnce * panels.panelFloats + panels.scratchFloats : 0
        let rounding = KernelStep.rows(operands.rows, width: depth, fills: rounded) { rows in
            guard let source = operands.source.contiguousFloats else { return }
            for row in rows { ck_bf16_row(source + row * depth, depth, x + row * stride) }
        }
        let products = KernelStep(pieces.count, scratchFloats: scratchFloats) { piece, memory in
            guard let target = operands.target.contiguousFloats else { return }
            let group = pieces.panels(of: piece)
            let columns = Panels.rows(of: group, among: width)
            let weights = panels.numbers(of: group, memory)
            pieces.forEachRows(of: piece) { part in
                let corner = target + part.lowerBound * width + columns.lowerBound
                ck_gemm_bf16(
                    x + part.lowerBound * stride, stride, part.count, depth, weights, columns.count, corner, width)
                for row in part { operands.finishProducts(columns, ofRow: row) }
            }
        }
        return [rounding, products]
    }

    private var x: UnsafeMutablePointer<UInt16> { rounded.parts[0].start.assumingMemoryBound(to: UInt16.self) }
}
