import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The rows of a float32 weight matrix as floats: where they lie, or decoded to scratch memory.
struct WeightRows: Sendable {
    private enum Place {
        /// Contiguous memory of the function's.
        case memory(OperandMemory)
        case stored(StoredWeight)
    }
    private let place: Place
    let count: Int
    let columns: Int

    init(_ weight: StoredWeight) {
        place = .stored(weight)
        (count, columns) = (weight.rows, weight.columns)
    }

    /// - Throws: `Unsuitable` unless the operand is a contiguous float32 matrix or a stored one.
    init(_ operand: OperandMemory) throws(Unsuitable) {
        guard operand.shape.rank == 2, operand.layout.isContiguous, operand.elementType == .float32 else {
            throw Unsuitable("takes contiguous float32 matrices")
        }
        place = operand.storedWeight.map { .stored($0) } ?? .memory(operand)
        (count, columns) = (operand.shape.dimensions[0], operand.shape.dimensions[1])
    }

    /// The encoding of a stored weight; "float32 in memory" for another.
    var encoding: String {
        guard case .stored(let weight) = place else { return "float32 in memory" }
        return weight.encoding
    }

    /// Whether `floats` decodes.
    var areDecoded: Bool {
        guard case .stored(let weight) = place else { return false }
        return weight.floatsInPlace == nil
    }

    /// Rows whose floats stay in the second cache level. Decoding has a cost for each call, such as that of reading a table.
    var countAtOnce: Int { max(8, (1 << 14) / max(columns, 1) / 8 * 8) }

    /// Floats of scratch memory that `floats` needs for so many rows.
    func scratchFloats(rows: Int) -> Int {
        guard areDecoded, case .stored(let weight) = place else { return 0 }
        return rows * columns + weight.scratchFloats(rows: rows)
    }

    /// The first of some rows, `columns` floats each. They may lie in the scratch memory.
    func floats(of rows: Range<Int>, scratch: UnsafeMutablePointer<Float>) -> UnsafePointer<Float>? {
        switch place {
        case .memory(let operand):
            return operand.contiguousFloats.map { UnsafePointer($0) + rows.lowerBound * columns }
        case .stored(let weight):
            if let floats = weight.floatsInPlace { return floats + rows.lowerBound * columns }
            weight.decode(rows, into: scratch, scratch: scratch + rows.count * columns)
            return UnsafePointer(scratch)
        }
    }
}
