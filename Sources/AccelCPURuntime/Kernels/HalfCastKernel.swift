import AccelPrograms
import AccelTensors
import CAccelKernels

/// Float32 rounded to float16, or float16 widened to float32, row by row.
struct HalfCastKernel: Kernel {
    static let operators: [any Operator.Type] = [Cast.self]
    static let readsStrided = true
    private let source: OperandMemory
    private let target: OperandMemory
    private let rows: StridedRows

    init(_ call: PreparedCall) throws(Unsuitable) {
        (source, target) = (call.inputs[0], call.outputs[0])
        try call.require(source.isInMemory, "reads no stored weight")
        try call.require(
            (source.elementType == .float16) != (target.elementType == .float16), "rounds or widens float16")
        try call.require(target.layout.isContiguous, "writes contiguous memory only")
        rows = source.rows(broadcastTo: target.shape)
        try call.require(rows.step == 1 || rows.width <= 1, "reads rows without gaps only")
    }

    var reason: String { "\(source.elementType.rawValue) to \(target.elementType.rawValue), rows of \(rows.width)" }

    var steps: [KernelStep] {
        let width = rows.width
        return [
            .rows(rows.count, width: width) { range in
                if let from = source.floats, let to = target.halves {
                    for row in range { ck_f32_to_f16(from + rows.start(of: row), to + row * width, width) }
                } else if let from = source.halves, let to = target.floats {
                    for row in range { ck_f16_to_f32(from + rows.start(of: row), to + row * width, width) }
                }
            }
        ]
    }
}
