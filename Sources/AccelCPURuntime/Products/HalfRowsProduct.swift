import AccelTensors
import AccelWeightCompression
import CAccelKernels

/// Rows of float16 or bfloat16, widened in registers.
struct HalfRowsProduct: VectorProduct {
    private let weight: StoredWeight
    private let type: ck_type

    init?(_ weight: StoredWeight) {
        guard weight.halvesInPlace != nil else { return nil }
        (self.weight, type) = (weight, weight.storedType == .float16 ? CK_F16 : CK_BF16)
    }

    var readsInterleaved: Bool { false }
    var reason: String { "\(weight.encoding) rows widened in registers (\(VectorProducts.instructionSet))" }
    func scratchFloats(rows: Int) -> Int { 0 }

    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch: UnsafeMutablePointer<Float>
    ) {
        guard let halves = weight.halvesInPlace else { return }
        let columns = weight.columns
        ck_dot_halves(x.floats, halves + rows.lowerBound * columns, type, columns, rows.count, columns, target)
    }
}
