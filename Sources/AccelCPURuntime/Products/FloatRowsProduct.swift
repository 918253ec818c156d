import AccelWeightCompression
import CAccelKernels

/// Rows of any encoding as float32: those that are stored so are multiplied where they lie, others are decoded some at a
/// time.
struct FloatRowsProduct: VectorProduct {
    private let rows: WeightRows

    init(_ weight: StoredWeight) { rows = WeightRows(weight) }

    var readsInterleaved: Bool { false }
    var reason: String {
        rows.areDecoded
            ? "\(rows.encoding) rows decoded, then multiplied" : "float32 rows multiplied where they are stored"
    }

    func scratchFloats(rows: Int) -> Int { self.rows.scratchFloats(rows: min(rows, self.rows.countAtOnce)) }

    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch: UnsafeMutablePointer<Float>
    ) {
        let columns = self.rows.columns
        for start in stride(from: rows.lowerBound, to: rows.upperBound, by: self.rows.countAtOnce) {
            let part = start..<min(start + self.rows.countAtOnce, rows.upperBound)
            guard let floats = self.rows.floats(of: part, scratch: scratch) else { return }
            ck_dot(x.floats, floats, columns, part.count, columns, target + (start - rows.lowerBound))
        }
    }
}
