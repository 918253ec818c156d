import AccelPrograms
import AccelTensors

/// A tensor with elements added around it.
struct PadKernel: Kernel {
    static let operators: [any Operator.Type] = [Pad.self]
    private let source: OperandMemory
    private let target: OperandMemory
    private let value: Float
    /// For each axis, the index of the input that each of the output's comes from; -1: the value.
    private let sources: [[Int]]

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? Pad else { throw Unsuitable("is for pad only") }
        try call.requireContiguousFloats(call.inputs + call.outputs)
        (source, target, value) = (call.inputs[0], call.outputs[0], Float(operation.value))
        sources = source.shape.dimensions.enumerated().map { axis, size in
            let (first, last) = (operation.before[axis].value ?? 0, operation.after[axis].value ?? 0)
            return (-first..<size + last).map { operation.source(of: $0, in: size) ?? -1 }
        }
    }

    var steps: [KernelStep] {
        let (width, last, isScalar) = (sources.last?.count ?? 1, sources.last ?? [], sources.isEmpty)
        return [
            .blocks(width == 0 ? 0 : target.shape.count / width, width: width) { [value] rows, columns in
                guard let x = source.contiguousFloats, let target = target.contiguousFloats else { return }
                for row in rows {
                    let out = target + row * width
                    guard !isScalar else {
                        out[0] = x[0]
                        continue
                    }
                    guard let start = start(of: row) else {
                        (out + columns.lowerBound).update(repeating: value, count: columns.count)
                        continue
                    }
                    for column in columns { out[column] = last[column] < 0 ? value : x[start + last[column]] }
                }
            }
        ]
    }

    /// Where the row of the input starts that a row of the output comes from; nil: it is the value.
    private func start(of row: Int) -> Int? {
        var (rest, start, scale) = (row, 0, source.shape.dimensions[source.shape.rank - 1])
        for axis in stride(from: source.shape.rank - 2, through: 0, by: -1) {
            let index = sources[axis][rest % sources[axis].count]
            if index < 0 { return nil }
            start += index * scale
            scale *= source.shape.dimensions[axis]
            rest /= sources[axis].count
        }
        return start
    }
}
