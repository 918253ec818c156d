import AccelWeightCompression
import CAccelKernels

/// Pruned weights: those that are kept are decoded, and spread over a row where they are multiplied.
struct SparseProduct: VectorProduct {
    private let weight: StoredWeight
    private let codec: SparseCodec

    init?(_ weight: StoredWeight) {
        guard let codec = weight.tensor.codec as? SparseCodec else { return nil }
        (self.weight, self.codec) = (weight, codec)
    }

    /// Rows whose kept weights stay in the second cache level.
    private var rowsAtOnce: Int { max(8, (1 << 14) / max(weight.columns, 1)) }

    var readsInterleaved: Bool { false }
    var reason: String {
        "\(weight.encoding) kept weights decoded, then spread in registers (\(VectorProducts.instructionSet))"
    }
    func scratchFloats(rows: Int) -> Int { weight.scratchFloats(rows: min(rows, rowsAtOnce)) }

    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch: UnsafeMutablePointer<Float>
    ) {
        for start in stride(from: rows.lowerBound, to: rows.upperBound, by: rowsAtOnce) {
            let part = start..<min(start + rowsAtOnce, rows.upperBound)
            codec.withKept(of: part, of: weight.tensor, scratch: scratch) { kept in
                ck_dot_masked(
                    x.floats, kept.values, kept.starts, kept.mask, kept.maskBytes, part.count, weight.columns,
                    target + (start - rows.lowerBound))
            }
        }
    }
}
