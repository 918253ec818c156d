import AccelPrograms
import AccelTensors

/// Rows of one operand that are converted to rows of another, between float32 and a narrow type of key/value caches.
struct RowConversion {
    let source: OperandMemory
    let target: OperandMemory
    private let rows: StridedRows

    /// Takes a call of one operand in memory, whose rows have no gaps, and a contiguous result.
    init(_ call: PreparedCall) throws(Unsuitable) {
        (source, target) = (call.inputs[0], call.outputs[0])
        try call.require(source.isInMemory, "reads no stored weight")
        try call.require(target.layout.isContiguous, "writes contiguous memory only")
        rows = source.rows(broadcastTo: source.shape)
        try call.require(rows.step == 1 || rows.width <= 1, "reads rows without gaps only")
    }

    /// The elements of a row of the operand.
    var width: Int { rows.width }
    /// The elements of a row of the result.
    var targetWidth: Int { target.shape.dimensions.last ?? 1 }

    /// Returns a step that calls `convert` with the first elements of each row, of the operand and of the result.
    func step<From, To>(
        from: From.Type, to: To.Type,
        _ convert: @escaping @Sendable (_ from: UnsafeMutablePointer<From>, _ to: UnsafeMutablePointer<To>) -> Void
    ) -> KernelStep {
        .rows(rows.count, width: rows.width) { range in
            guard let from = source.start(as: From.self), let to = target.start(as: To.self) else { return }
            for row in range { convert(from + rows.start(of: row), to + row * targetWidth) }
        }
    }
}
