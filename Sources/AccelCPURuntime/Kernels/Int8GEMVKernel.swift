import AccelPrograms
import AccelTensors
import CAccelKernels

/// `x W^T + bias` with its activation, for a few rows of x that are rounded to 8 bits and weights that are stored as
/// integers: codes are multiplied where they are read, once for each row of x.
struct Int8GEMVKernel: Kernel {
    static let operators: [any Operator.Type] = [QuantizedLinear.self]
    private let operands: LinearOperands
    private let codes: IntegerCodes
    private let rows: RoundedRows
    /// Codes of four bits are multiplied without being unpacked.
    private let readsNibbles: Bool
    private let encoding: String

    init(_ call: PreparedCall) throws(Unsuitable) {
        operands = try LinearOperands(call)
        let (codes, weight) = try operands.integerCodes()
        (self.codes, encoding) = (codes, weight.encoding)
        readsNibbles = codes.areNibbles && (codes.blocks == 1 || codes.block % 32 == 0)
        rows = RoundedRows(operands, with: codes, stepCodes: readsNibbles ? .split : .none, in: call.workspace)
    }

    var cost: Double { LinearCost.int8Vectors(rows: operands.rows) }
    var reason: String {
        "\(encoding) codes multiplied as integers (\(VectorProducts.instructionSet)); "
            + (operands.rows == 1 ? "1 row" : "\(operands.rows) rows") + " of input"
    }

    var steps: [KernelStep] {
        // Some 32 KB of codes of 4 bits.
        let columnsAtOnce = max(16, (1 << 16) / max(operands.depth, 1) / 16 * 16)
        let numbers = min(columnsAtOnce, max(operands.width, 1)) * codes.blocks
        let unpacked = numbers * (codes.hasShifts ? 2 : 1)
        let scratchFloats =
            unpacked + (readsNibbles ? 0 : codes.scratchFloats(rows: min(codes.rowsAtOnce, columnsAtOnce)))
        let products = KernelStep(
            (operands.width + columnsAtOnce - 1) / columnsAtOnce, scratchFloats: scratchFloats
        ) { piece, scratch in
            guard let target = operands.target.contiguousFloats else { return }
            let columns = piece * columnsAtOnce..<min((piece + 1) * columnsAtOnce, operands.width)
            if !codes.haveHalfScales { codes.load(columns, scales: scratch, shifts: scratch + numbers) }
            codes.withHalfScales(from: columns.lowerBound) { halves in
                for row in 0..<operands.rows {
                    let part = target + row * operands.width + columns.lowerBound
                    multiply(
                        columns, row, halves: halves, scales: scratch, shifts: scratch + numbers,
                        scratch: scratch + unpacked, into: part)
                    operands.finishProducts(columns, ofRow: row)
                }
            }
        }
        return [rows.rounding, products]
    }

    private func multiply(
        _ columns: Range<Int>, _ row: Int, halves: UnsafePointer<UInt16>?, scales: UnsafePointer<Float>,
        shifts: UnsafePointer<Float>, scratch: UnsafeMutablePointer<Float>,
        into part: UnsafeMutablePointer<Float>
    ) {
        codes.withCodes(from: columns.lowerBound) { packed in
            if readsNibbles {
                var x = rows.row(row, halves: halves, scales: scales, shifts: shifts)
                return ck_dot_int8_nibbles(
                    &x, packed, codes.rowBytes, columns.count, codes.flipped == 0 ? 1 : 0, part)
            }
            var start = 0
            while start < columns.count {
                let count = min(codes.rowsAtOnce, columns.count - start)
                let numbers = start * codes.blocks
                var x = rows.row(
                    row, halves: halves.map { $0 + numbers }, scales: scales + numbers, shifts: shifts + numbers)
                ck_dot_int8_bytes(
                    &x, codes.bytes(ofRows: count, from: packed + start * codes.rowBytes, scratch: scratch),
                    codes.columns, count, codes.flipped, codes.middle, part + start)
                start += count
            }
        }
    }
}
