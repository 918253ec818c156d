import AccelByteIO
import CAccelKernels

extension PaletteCodec {
    /// Entries of 4-bit codes are looked up in registers, for the rows of a table at once.
    public func dot(
        _ rows: Range<Int>, of weight: CompressedTensor, with x: DotVector, into target: UnsafeMutablePointer<Float>
    ) {
        guard bits == 4 else { return dotDecoded(rows, of: weight, with: x, into: target) }
        let (columns, bytes) = (weight.shape.columns, bytesPerRow(weight.shape))
        var start = rows.lowerBound
        while start < rows.upperBound {
            let index = groupIndex(start)
            let end = group.map { min((index + 1) * $0, rows.upperBound) } ?? rows.upperBound
            let part = target + (start - rows.lowerBound)
            let table = entries(of: weight, group: index)
            weight.sections[0].withBytes { codes in
                guard let codes = codes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
                ck_dot_codes4(x.pairs, codes + start * bytes, bytes, end - start, columns, table, nil, 0, 0, part)
            }
            if hasScales { for row in start..<end { part[row - start] *= scale(of: weight, row: row) } }
            start = end
        }
    }
}
