import AccelWeightCompression
import CAccelKernels

/// Rows of any encoding, decoded some at a time.
struct DecodedProduct: VectorProduct {
    private let weight: StoredWeight
    private let rowsAtOnce: Int

    init(_ weight: StoredWeight) {
        self.weight = weight
        // Decoding has a cost for each call, such as that of reading a table; so many rows stay in the second cache level.
        rowsAtOnce = max(8, (1 << 14) / max(weight.columns, 1))
    }

    var readsPairs: Bool { false }
    var reason: String { "\(weight.tensor.codec.specification) rows decoded, then multiplied" }

    func scratchFloats(rows: Int) -> Int {
        let rows = min(rows, rowsAtOnce)
        return rows * weight.columns + weight.scratchFloats(rows: rows)
    }

    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch: UnsafeMutablePointer<Float>
    ) {
        let columns = weight.columns
        for start in stride(from: rows.lowerBound, to: rows.upperBound, by: rowsAtOnce) {
            let part = start..<min(start + rowsAtOnce, rows.upperBound)
            weight.decode(part, into: scratch, scratch: scratch + min(rows.count, rowsAtOnce) * columns)
            ck_dot(x.floats, scratch, columns, part.count, columns, target + (start - rows.lowerBound))
        }
    }
}

/// Rows of float32 that are multiplied from where they lie.
struct FloatProduct: VectorProduct {
    private let weight: StoredWeight

    init?(_ weight: StoredWeight) {
        guard weight.floatsInPlace != nil else { return nil }
        self.weight = weight
    }

    var readsPairs: Bool { false }
    var reason: String { "float32 rows multiplied where they are stored" }
    func scratchFloats(rows: Int) -> Int { 0 }

    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch: UnsafeMutablePointer<Float>
    ) {
        guard let floats = weight.floatsInPlace else { return }
        let columns = weight.columns
        ck_dot(x.floats, floats + rows.lowerBound * columns, columns, rows.count, columns, target)
    }
}
