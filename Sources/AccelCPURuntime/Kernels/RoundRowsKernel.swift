import AccelPrograms
import AccelTensors
import CAccelKernels

/// Rows of float32 rounded to codes, each with a scale of its own.
struct RoundRowsKernel: Kernel {
    static let operators: [any Operator.Type] = [RoundRows.self]
    static let readsStrided = true
    private let source: OperandMemory
    private let target: OperandMemory
    private let rows: StridedRows

    init(_ call: PreparedCall) throws(Unsuitable) {
        (source, target) = (call.inputs[0], call.outputs[0])
        try call.require(source.floats != nil, "reads no stored weight")
        try call.require(target.layout.isContiguous, "writes contiguous memory only")
        rows = source.rows(broadcastTo: source.shape)
        try call.require(rows.step == 1 || rows.width <= 1, "reads rows without gaps only")
    }

    var reason: String { "F32 to codes, rows of \(rows.width)" }

    var steps: [KernelStep] {
        let (width, wide) = (rows.width, target.shape.dimensions.last ?? 0)
        return [
            .rows(rows.count, width: width) { range in
                guard let from = source.floats, let to = target.codes else { return }
                for row in range { ck_round_byte_row(from + rows.start(of: row), width, to + row * wide) }
            }
        ]
    }
}
