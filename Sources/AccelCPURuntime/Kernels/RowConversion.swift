import AccelPrograms
import AccelTensors

/// Rows of one operand that are converted to rows of another, between float32 and a narrow type of key/value caches.
struct RowConversion {
    let source: OperandMemory
    let target: OperandMemory
    /// The elements of a row of the result.
    let targetWidth: Int
    private let rows: StridedRows

    /// Takes a call of one operand in memory, whose rows have no gaps, and a contiguous result.
    init(_ call: PreparedCall) throws(Unsuitable) {
        (source, target) = (call.inputs[0], call.outputs[0])
        try call.require(source.isInMemory, "reads no stored weight")
        try call.require(target.layout.isContiguous, "writes contiguous memory only")
        targetWidth = target.shape.dimensions.last ?? 1
        rows = source.rows(broadcastTo: source.shape)
        try call.require(rows.step == 1 || rows.width <= 1, "reads rows without gaps only")
    }

    /// The elements of a row of the operand.
    var width: Int { rows.width }

    /// Returns a step that calls `convert` with the index of each row's first element, in the operand and in the result.
    func step(_ convert: @escaping @Sendable (_ from: Int, _ to: Int) -> Void) -> KernelStep {
        .rows(rows.count, width: rows.width) { range in
            for row in range { convert(rows.start(of: row), row * targetWidth) }
        }
    }

    /// Returns a step that calls `convert` with the same indices, and with the columns of a part of the row.
    func stepOfParts(
        _ convert: @escaping @Sendable (_ from: Int, _ to: Int, _ columns: Range<Int>) -> Void
    ) -> KernelStep {
        .blocks(rows.count, width: targetWidth) { range, columns in
            for row in range { convert(rows.start(of: row), row * targetWidth, columns) }
        }
    }
}
