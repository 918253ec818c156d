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
        let (source, target, width) = (rows.source, rows.target, rows.targetWidth)
        return [
            rows.stepOfParts { from, to, columns in
                guard let codes = source.codes, let floats = target.floats else { return }
                let first = columns.lowerBound
                ck_widen_codes(
                    codes + from + first, columns.count, ck_byte_row_scale(codes + from, width), floats + to + first)
            }
        ]
    }
}
