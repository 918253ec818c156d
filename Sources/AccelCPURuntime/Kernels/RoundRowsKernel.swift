import AccelPrograms
import CAccelKernels

/// Rows of float32 rounded to codes, each with a scale of its own.
struct RoundRowsKernel: Kernel {
    static let operators: [any Operator.Type] = [RoundRows.self]
    static let readsStrided = true
    private let rows: RowConversion

    init(_ call: PreparedCall) throws(Unsuitable) { rows = try RowConversion(call) }

    var reason: String { "F32 to codes, rows of \(rows.width)" }

    var steps: [KernelStep] {
        let width = rows.width
        return [rows.step(from: Float.self, to: Int8.self) { ck_round_byte_row($0, width, $1) }]
    }
}
