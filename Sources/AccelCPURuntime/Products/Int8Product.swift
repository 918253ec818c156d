import AccelByteIO
import AccelWeightCompression
import CAccelKernels

/// Codes of eight bits, widened in registers; the scale comes in at the end of a row.
struct Int8Product: VectorProduct {
    private let weight: StoredWeight
    private let codec: Int8Codec

    init?(_ weight: StoredWeight) {
        guard let codec = weight.tensor.codec as? Int8Codec else { return nil }
        (self.weight, self.codec) = (weight, codec)
    }

    var readsInterleaved: Bool { false }
    var reason: String { "\(codec.specification) codes multiplied in registers (\(VectorProducts.instructionSet))" }
    func scratchFloats(rows: Int) -> Int { 2 * rows }

    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch: UnsafeMutablePointer<Float>
    ) {
        let columns = weight.columns
        let scales = scratch, zeros = scratch + rows.count
        codec.loadScales(of: rows, of: weight.tensor, into: scales)
        codec.loadZeros(of: rows, of: weight.tensor, into: zeros)
        weight.tensor.sections[0].withBytes { codes in
            guard let start = codes.baseAddress?.assumingMemoryBound(to: Int8.self) else { return }
            ck_dot_int8(
                x.floats, start + rows.lowerBound * columns, columns, rows.count, columns, zeros, target)
        }
        for index in 0..<rows.count { target[index] *= scales[index] }
    }
}
