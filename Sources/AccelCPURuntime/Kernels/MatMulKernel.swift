import AccelPrograms
import AccelTensors
import CAccelKernels

/// Matrix products over batches.
struct MatMulKernel: Kernel {
    static let operators: [any Operator.Type] = [MatMul.self]
    private let left: OperandMemory
    private let right: OperandMemory
    private let target: OperandMemory
    /// The batches of both operands, broadcast to the output's; a row is a matrix.
    private let leftBatches: StridedRows
    private let rightBatches: StridedRows
    private let (rows, depth, columns): (Int, Int, Int)
    private let workspace: Workspace

    init(_ call: PreparedCall) throws(Unsuitable) {
        try call.requireContiguousFloats(call.inputs + call.outputs)
        (left, right, target, workspace) = (call.inputs[0], call.inputs[1], call.outputs[0], call.workspace)
        let sizes = target.shape.dimensions
        let batch = sizes.dropLast(2)
        (rows, columns) = (sizes[sizes.count - 2], sizes[sizes.count - 1])
        depth = left.shape.dimensions[left.shape.rank - 1]
        func batches(_ operand: OperandMemory) -> StridedRows {
            var layout = StridedLayout(shape: operand.shape)
                .expanded(to: Shape(batch + operand.shape.dimensions.suffix(2)))
            layout.shape.dimensions.removeLast()
            layout.strides.removeLast()
            layout.shape.dimensions[batch.count] = 1
            return StridedRows(layout)
        }
        leftBatches = batches(left)
        rightBatches = batches(right)
    }

    var steps: [KernelStep] {
        let width = Panels.width
        let panels = (columns + width - 1) / width
        // Some milliseconds of work; the product divides rows into blocks of 128.
        let rowsAtOnce = 128 * max(1, (1 << 13) / max(depth, 1))
        return [
            KernelStep(leftBatches.count * panels, scratchFloats: depth * width) { piece, panel in
                guard let a = left.contiguousFloats, let b = right.contiguousFloats, let c = target.contiguousFloats
                else { return }
                let (batch, column) = (piece / panels, piece % panels * width)
                let count = min(width, columns - column)
                ck_pack_panel_transposed(b + rightBatches.start(of: batch) + column, columns, count, depth, panel)
                for row in stride(from: 0, to: rows, by: rowsAtOnce) where !workspace.isCancelled {
                    ck_gemm_panels(
                        a + leftBatches.start(of: batch) + row * depth, depth, min(rowsAtOnce, rows - row), depth,
                        panel, nil, c + (batch * rows + row) * columns + column, columns, count)
                }
            }
        ]
    }
}
