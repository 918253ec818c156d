import AccelByteIO
import AccelWeightCompression
import CAccelKernels

/// Entries of the NormalFloat table, looked up in registers and summed block by block before their scale comes in.
struct NF4Product: VectorProduct {
    private let weight: StoredWeight
    private let codec: NF4Codec
    private let (block, blocks, rowsAtOnce): (Int, Int, Int)

    init?(_ weight: StoredWeight) {
        guard let codec = weight.tensor.codec as? NF4Codec else { return nil }
        (self.weight, self.codec) = (weight, codec)
        (block, blocks) = codec.blocks(of: weight.tensor.shape)
        rowsAtOnce = max(4, (1 << 12) / max(blocks, 1))
    }

    var readsPairs: Bool { true }
    var reason: String { "\(codec.specification) entries looked up in registers (\(VectorProducts.instructionSet))" }
    func scratchFloats(rows: Int) -> Int { min(rows, rowsAtOnce) * blocks }

    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch scales: UnsafeMutablePointer<Float>
    ) {
        let columns = weight.columns, bytes = (columns + 1) / 2
        for start in stride(from: rows.lowerBound, to: rows.upperBound, by: rowsAtOnce) {
            let end = min(start + rowsAtOnce, rows.upperBound)
            codec.loadScales(start * blocks..<end * blocks, of: weight.tensor, into: scales)
            weight.tensor.sections[0].withBytes { codes in
                guard let codes = codes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
                ck_dot_codes4(
                    x.pairs, codes + start * bytes, bytes, end - start, columns, NF4Codec.table, scales, blocks, block,
                    target + (start - rows.lowerBound))
            }
        }
    }
}
