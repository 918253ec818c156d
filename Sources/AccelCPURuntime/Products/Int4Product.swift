import AccelByteIO
import AccelWeightCompression
import CAccelKernels

/// Symmetric codes of four bits, widened in registers and summed block by block before their scale comes in.
struct Int4Product: VectorProduct {
    private let weight: StoredWeight
    private let codec: Int4Codec
    private let (block, blocks, rowsAtOnce): (Int, Int, Int)

    init?(_ weight: StoredWeight) {
        guard let codec = weight.tensor.codec as? Int4Codec, codec.isSymmetric else { return nil }
        (self.weight, self.codec) = (weight, codec)
        (block, blocks) = (codec.blockSize(weight.tensor.shape), codec.blocksPerRow(weight.tensor.shape))
        rowsAtOnce = max(4, (1 << 12) / blocks)
    }

    var readsPairs: Bool { true }
    var reason: String { "\(codec.specification) codes multiplied in registers (\(VectorProducts.instructionSet))" }
    func scratchFloats(rows: Int) -> Int { min(rows, rowsAtOnce) * blocks }

    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch scales: UnsafeMutablePointer<Float>
    ) {
        let columns = weight.columns
        for start in stride(from: rows.lowerBound, to: rows.upperBound, by: rowsAtOnce) {
            let end = min(start + rowsAtOnce, rows.upperBound)
            codec.loadScales(start * blocks..<end * blocks, of: weight.tensor, into: scales)
            weight.tensor.sections[0].withBytes { codes in
                guard let codes = codes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
                let bytes = (columns + 1) / 2
                // Two's complement.
                ck_dot_nibbles(
                    x.pairs, codes + start * bytes, bytes, end - start, columns, 8, 8, scales, blocks, block,
                    target + (start - rows.lowerBound))
            }
        }
    }
}
