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
        let width = rows.width
        return [
            rows.source.elementType == .float16
                ? rows.step(from: UInt16.self, to: Float.self) { ck_f16_to_f32($0, $1, width) }
                : rows.step(from: Float.self, to: UInt16.self) { ck_f32_to_f16($0, $1, width) }
        ]
    }
}
