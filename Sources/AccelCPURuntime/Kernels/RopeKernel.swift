import AccelPrograms
import AccelTensors
import CAccelKernels

/// Rotary position embeddings, row by row.
struct RopeKernel: Kernel {
    static let operators: [any Operator.Type] = [Rope.self]
    private let source: OperandMemory
    private let (cos, sin): (OperandMemory, OperandMemory)
    private let target: OperandMemory
    /// Where each row's angles are.
    private let angles: StridedRows
    private let (width, half): (Int, Int)

    init(_ call: PreparedCall) throws(Unsuitable) {
        try call.requireContiguousFloats(call.inputs + call.outputs)
        (source, cos, sin, target) = (call.inputs[0], call.inputs[1], call.inputs[2], call.outputs[0])
        width = source.shape.dimensions[source.shape.rank - 1]
        half = cos.shape.dimensions[cos.shape.rank - 1]
        angles = StridedRows(
            StridedLayout(shape: cos.shape).expanded(to: Shape(source.shape.dimensions.dropLast() + [half])))
    }

    var steps: [KernelStep] {
        [
            .rows(angles.count, width: width, elements: 1 << 12) { rows in
                guard let source = source.contiguousFloats, let target = target.contiguousFloats,
                    let cos = cos.contiguousFloats, let sin = sin.contiguousFloats
                else { return }
                for row in rows {
                    let angle = angles.start(of: row)
                    ck_rope(source + row * width, cos + angle, sin + angle, half, target + row * width, width)
                }
            }
        ]
    }
}
