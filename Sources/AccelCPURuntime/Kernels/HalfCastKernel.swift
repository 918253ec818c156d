import AccelPrograms
import AccelTensors
import CAccelKernels

/// Float32 rounded to float16, or float16 widened to float32, row by row.
struct HalfCastKernel: Kernel {
    static let operators: [any Operator.Type] = [Cast.self]
    static let readsStrided = true
    private let rows: RowConversion

    init(_ call: PreparedCall) throws(Unsuitable) {
        rows = try RowConversion(call)
        try call.require(
            (rows.source.elementType == .float16) != (rows.target.elementType == .float16), "rounds or widens float16")
    }

    var reason: String {
        "\(rows.source.elementType.rawValue) to \(rows.target.elementType.rawValue), rows of \(rows.width)"
    }

    var steps: [KernelStep] {
        let (source, target) = (rows.source, rows.target)
        return [
            rows.stepOfParts { row, targetRow, columns in
                let (from, to) = (row + columns.lowerBound, targetRow + columns.lowerBound)
                if let floats = source.floats, let halves = target.halves {
                    ck_f32_to_f16(floats + from, halves + to, columns.count)
                } else if let halves = source.halves, let floats = target.floats {
                    ck_f16_to_f32(halves + from, floats + to, columns.count)
                }
            }
        ]
    }
}
