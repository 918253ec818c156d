import AccelPrograms
import AccelTensors

/// Resizes spatial axes by interpolation in float64.
struct ResizeKernel: Kernel {
    static let operators: [any Operator.Type] = [Resize.self]
    private let source: OperandMemory
    private let target: OperandMemory
    /// For each spatial axis, the sources of each output index.
    private let sources: [[(lower: Int, upper: Int, weight: Double)]]
    /// Elements of the input from one index of a spatial axis to the next.
    private let strides: [Int]

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? Resize else { throw Unsuitable("is for resize only") }
        try call.requireContiguousFloats(call.inputs + call.outputs)
        (source, target) = (call.inputs[0], call.outputs[0])
        strides = Array(source.shape.strides[2...])
        sources = zip(source.shape.dimensions[2...], target.shape.dimensions[2...]).map { inputSize, size in
            (0..<size).map { operation.source(of: $0, of: size, in: inputSize) }
        }
    }

    var steps: [KernelStep] {
        let width = target.shape.dimensions[target.shape.rank - 1]
        let rows = target.shape.count / max(width, 1)
        let planes = source.shape.dimensions[0] * source.shape.dimensions[1]
        let rowsPerPlane = rows / max(planes, 1)
        let planeSize = source.shape.dimensions[2...].reduce(1, *)
        return [
            .blocks(rows, width: width) { rows, columns in
                guard let source = source.contiguousFloats, let target = target.contiguousFloats else { return }
                for row in rows {
                    let plane = source + row / rowsPerPlane * planeSize
                    for column in columns {
                        target[row * width + column] = Float(
                            value(plane, axis: sources.count - 1, row % rowsPerPlane * width + column, at: 0))
                    }
                }
            }
        ]
    }

    /// An element of the output's first axes up to `axis`, at an offset for those after it: the earlier axes are weighed
    /// first.
    private func value(_ plane: UnsafePointer<Float>, axis: Int, _ position: Int, at offset: Int) -> Double {
        guard axis >= 0 else { return Double(plane[offset]) }
        let (lower, upper, weight) = sources[axis][position % sources[axis].count]
        let rest = position / sources[axis].count
        let a = value(plane, axis: axis - 1, rest, at: offset + lower * strides[axis])
        if weight == 0 { return a }
        let b = value(plane, axis: axis - 1, rest, at: offset + upper * strides[axis])
        return a * (1 - weight) + b * weight
    }
}
