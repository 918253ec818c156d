import AccelWeightCompression
import CAccelKernels

/// Columns in another order: the vector is put into that order, and the inner encoding multiplies it.
struct PermutedProduct: VectorProduct {
    private let weight: StoredWeight
    private let codec: PermutedCodec
    private let inner: any VectorProduct
    /// Columns of the inner encoding.
    private let slots: Int

    init?(_ weight: StoredWeight) {
        guard let codec = weight.tensor.codec as? PermutedCodec else { return nil }
        let within = StoredWeight(codec.slottedWeight(of: weight.tensor))
        (self.weight, self.codec, slots) = (weight, codec, within.columns)
        inner = VectorProducts.product(of: within)
    }

    var readsInterleaved: Bool { false }
    var reason: String { "the vector ordered as the weight's columns, then " + inner.reason }
    private var interleavedCount: Int { inner.readsInterleaved ? ck_interleaved_count(slots) : 0 }
    func scratchFloats(rows: Int) -> Int { slots + interleavedCount + inner.scratchFloats(rows: rows) }

    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch: UnsafeMutablePointer<Float>
    ) {
        codec.place(x.floats, inSlotsOf: weight.tensor, into: scratch)
        let interleaved = scratch + slots
        if inner.readsInterleaved { ck_interleave(scratch, slots, interleaved) }
        inner.multiply(
            rows, with: DotVector(floats: scratch, interleaved: interleaved), into: target,
            scratch: interleaved + interleavedCount)
    }
}
