import AccelByteIO
import AccelWeightCompression
import CAccelKernels

/// Palettes of sixteen entries: they are looked up in registers, for the rows of a table at once.
struct Palette4Product: VectorProduct {
    private let weight: StoredWeight
    private let codec: PaletteCodec

    init?(_ weight: StoredWeight) {
        guard let codec = weight.tensor.codec as? PaletteCodec, codec.bits == 4 else { return nil }
        (self.weight, self.codec) = (weight, codec)
    }

    var readsInterleaved: Bool { true }
    var reason: String { "\(codec.specification) entries looked up in registers (\(VectorProducts.instructionSet))" }
    func scratchFloats(rows: Int) -> Int { 16 }

    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch table: UnsafeMutablePointer<Float>
    ) {
        let (columns, bytes) = (weight.columns, codec.bytesPerRow(weight.tensor.shape))
        var start = rows.lowerBound
        while start < rows.upperBound {
            let group = codec.groupIndex(start)
            let end = codec.group.map { min((group + 1) * $0, rows.upperBound) } ?? rows.upperBound
            let part = target + (start - rows.lowerBound)
            codec.loadEntries(of: weight.tensor, group: group, into: table)
            weight.tensor.sections[0].withBytes { codes in
                guard let codes = codes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
                ck_dot_codes4(
                    x.interleaved, codes + start * bytes, bytes, end - start, columns, table, nil, CK_F32, 0, 0, part)
            }
            if codec.hasScales {
                for row in start..<end { part[row - start] *= codec.scale(of: weight.tensor, row: row) }
            }
            start = end
        }
    }
}
