import AccelPrograms
import AccelTensors
import CAccelKernels

/// The values of rows of codes: each code times the scale of its row.
struct WidenRowsKernel: Kernel {
    static let operators: [any Operator.Type] = [WidenRows.self]
    static let readsStrided = true
    private let source: OperandMemory
    private let target: OperandMemory
    private let rows: StridedRows

    init(_ call: PreparedCall) throws(Unsuitable) {
        (source, target) = (call.inputs[0], call.outputs[0])
        try call.require(source.codes != nil, "reads rows of codes in memory only")
        try call.require(target.layout.isContiguous, "writes contiguous memory only")
        rows = source.rows(broadcastTo: source.shape)
        try call.require(rows.step == 1, "reads rows without gaps only")
    }

    var reason: String { "codes to F32, rows of \(target.shape.dimensions.last ?? 0)" }

    var steps: [KernelStep] {
        let width = target.shape.dimensions.last ?? 0
        return [
            .rows(rows.count, width: width) { range in
                guard let from = source.codes, let to = target.floats else { return }
                for row in range {
                    let codes = from + rows.start(of: row)
                    ck_widen_codes(codes, width, ck_byte_row_scale(codes, width), to + row * width)
                }
            }
        ]
    }
}
