import AccelPrograms
import CAccelKernels

/// Rows of float32 rounded to codes, each with a scale of its own.
struct RoundRowsKernel: Kernel {
    static let operators: [any Operator.Type] = [RoundRows.self]
    static let readsStrided = true
    private let rows: RowConversion
    private let workspace: Workspace

    init(_ call: PreparedCall) throws(Unsuitable) {
        rows = try RowConversion(call)
        workspace = call.workspace
    }

    var reason: String { "F32 to codes, rows of \(rows.width)" }

    var steps: [KernelStep] {
        let (source, target, width) = (rows.source, rows.target, rows.width)
        return [
            rows.step { [workspace] from, to in
                guard let floats = source.floats, let codes = target.codes else { return }
                ck_round_byte_row(floats + from, width, codes + to, workspace.question)
            }
        ]
    }
}
