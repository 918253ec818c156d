import AccelByteIO
import CAccelKernels

extension Int4Codec {
    /// The values of the codes' bit patterns.
    private static let table = (0..<16).map { Float($0 < 8 ? $0 : $0 - 16) }

    /// Codes are summed block by block before their scale comes in.
    public func dot(
        _ rows: Range<Int>, of weight: CompressedTensor, with x: DotVector, into target: UnsafeMutablePointer<Float>
    ) {
        guard isSymmetric else { return dotDecoded(rows, of: weight, with: x, into: target) }
        let columns = weight.shape.columns
        let (size, blocks) = (blockSize(weight.shape), blocksPerRow(weight.shape))
        let step = max(4, (1 << 12) / blocks)
        withUnsafeTemporaryAllocation(of: Float.self, capacity: step * blocks) { scales in
            guard let scales = scales.baseAddress else { return }
            for start in stride(from: rows.lowerBound, to: rows.upperBound, by: step) {
                let end = min(start + step, rows.upperBound)
                weight.sections[1].withBytes { search.scaleType.load($0, start * blocks..<end * blocks, into: scales) }
                weight.sections[0].withBytes { codes in
                    guard let codes = codes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
                    ck_dot_codes4(
                        x.pairs, codes + start * Nibbles.byteCount(columns), Nibbles.byteCount(columns), end - start,
                        columns,
                        Self.table, scales, blocks, size, target + (start - rows.lowerBound))
                }
            }
        }
    }
}
