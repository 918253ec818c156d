import AccelByteIO
import AccelWeightCompression
import CAccelKernels

/// Palettes: entries are looked up where they are multiplied, for the rows of a table at once.
struct PaletteProduct: VectorProduct {
    private let weight: StoredWeight
    private let codec: PaletteCodec
    private let codes: ByteCodes

    init?(_ weight: StoredWeight) {
        guard let codec = weight.tensor.codec as? PaletteCodec else { return nil }
        (self.weight, self.codec) = (weight, codec)
        codes = ByteCodes(bits: codec.bits, count: weight.columns)
    }

    /// Codes of four bits are looked up as they are stored; others as bytes.
    private var areNibbles: Bool { codec.bits == 4 }
    private var tableFloats: Int { 1 << codec.bits }

    var readsInterleaved: Bool { areNibbles }
    var reason: String { "\(codec.specification) entries looked up (\(VectorProducts.instructionSet))" }
    func scratchFloats(rows: Int) -> Int { tableFloats + (areNibbles ? 0 : codes.scratchFloats(rows: rows)) }

    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch table: UnsafeMutablePointer<Float>
    ) {
        var (start, current) = (rows.lowerBound, -1)
        while start < rows.upperBound {
            let group = codec.groupIndex(start)
            var end = codec.group.map { min((group + 1) * $0, rows.upperBound) } ?? rows.upperBound
            if !areNibbles { end = min(end, start + codes.rowsAtOnce) }
            if group != current { codec.loadEntries(of: weight.tensor, group: group, into: table) }
            let sums = target + (start - rows.lowerBound)
            multiply(start..<end, with: x, table, into: sums)
            if codec.hasScales { codec.multiply(sums, byScalesOf: start..<end, of: weight.tensor) }
            (start, current) = (end, group)
        }
    }

    /// Multiplies rows that share a table.
    private func multiply(
        _ rows: Range<Int>, with x: DotVector, _ table: UnsafeMutablePointer<Float>,
        into target: UnsafeMutablePointer<Float>
    ) {
        let columns = weight.columns
        weight.tensor.sections[0].withBytes { bytes in
            guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            let packed = start + rows.lowerBound * codes.rowBytes
            if areNibbles {
                ck_dot_codes4(
                    x.interleaved, packed, codes.rowBytes, rows.count, columns, table, nil, CK_F32, 0, 0, target)
            } else {
                let unpacked = codes.bytes(ofRows: rows.count, from: packed, scratch: table + tableFloats)
                ck_dot_entries(x.floats, unpacked, columns, rows.count, columns, table, Int32(codec.bits), target)
            }
        }
    }
}
