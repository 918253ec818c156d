import AccelPrograms
import AccelTensors

/// Tensors one after the other along an axis.
struct ConcatKernel: Kernel {
    static let operators: [any Operator.Type] = [Concat.self]
    private let sources: [OperandMemory]
    private let target: OperandMemory
    private let axis: Int

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? Concat else { throw Unsuitable("is for concat only") }
        try call.require(call.inputs.allSatisfy(\.isInMemory), "reads no stored weight")
        try call.require(
            (call.inputs + call.outputs).allSatisfy(\.layout.isContiguous), "reads and writes contiguous memory only")
        (sources, target, axis) = (call.inputs, call.outputs[0], operation.axis)
    }

    var steps: [KernelStep] {
        let elementBytes = target.elementType.byteCount
        let (outer, size, inner) = target.shape.sections(of: axis)
        var (steps, first): ([KernelStep], Int) = ([], 0)
        for source in sources {
            let (bytes, stride, start) = (
                source.shape.dimensions[axis] * inner * elementBytes, size * inner * elementBytes,
                first * inner * elementBytes
            )
            first += source.shape.dimensions[axis]
            guard bytes > 0 else { continue }
            steps.append(
                .blocks(outer, width: bytes, elements: 1 << 15) { [target] rows, part in
                    guard let from = source.bytes, let to = target.bytes else { return }
                    for row in rows {
                        (to + row * stride + start + part.lowerBound).copyMemory(
                            from: from + row * bytes + part.lowerBound, byteCount: part.count)
                    }
                })
        }
        return steps
    }
}
