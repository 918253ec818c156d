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
    func scratchFloats(rows: Int) -> Int { rows }

    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch zeros: UnsafeMutablePointer<Float>
    ) {
        let columns = weight.columns
        weight.tensor.sections[0].withBytes { codes in
            guard let start = codes.baseAddress?.assumingMemoryBound(to: Int8.self) else { return }
            for index in 0..<rows.count {
                zeros[index] = codec.scaleAndZero(of: weight.tensor, row: rows.lowerBound + index).zero
            }
            ck_dot_int8(
                x.floats, start + rows.lowerBound * columns, columns, rows.count, columns, zeros, target)
            for index in 0..<rows.count {
                target[index] *= codec.scaleAndZero(of: weight.tensor, row: rows.lowerBound + index).scale
            }
        }
    }
}
