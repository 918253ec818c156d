import AccelPrograms
import CAccelKernels

/// The values of rows of codes: each code times the scale of its row.
struct WidenRowsKernel: Kernel {
    static let operators: [any Operator.Type] = [WidenRows.self]
    static let readsStrided = true
    private let rows: RowConversion

    init(_ call: PreparedCall) throws(Unsuitable) { rows = try RowConversion(call) }

    var reason: String { "codes to F32, rows of \(rows.targetWidth)" }

    var steps: [KernelStep] {
        let width = rows.targetWidth
        return [
            rows.step(from: Int8.self, to: Float.self) { ck_widen_codes($0, width, ck_byte_row_scale($0, width), $1) }
        ]
    }
}
