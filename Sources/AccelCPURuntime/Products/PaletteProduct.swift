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
        weight.tensor.sections[0].withBytes { bytes in
            guard let packed = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            rows.forEachRun(sharing: codec.group, most: areNibbles ? rows.count : codes.rowsAtOnce) { run, group in
                if let group { codec.loadEntries(of: weight.tensor, group: group, into: table) }
                multiply(
                    run.count, packed + run.lowerBound * codes.rowBytes, with: x, table,
                    into: target + (run.lowerBound - rows.lowerBound))
            }
        }
        if codec.hasScales { codec.multiply(target, byScalesOf: rows, of: weight.tensor) }
    }

    /// Multiplies rows that share a table.
    private func multiply(
        _ rows: Int, _ packed: UnsafePointer<UInt8>, with x: DotVector, _ table: UnsafeMutablePointer<Float>,
        into target: UnsafeMutablePointer<Float>
    ) {
        let columns = weight.columns
        if areNibbles {
            ck_dot_codes4(x.interleaved, packed, codes.rowBytes, rows, columns, table, nil, CK_F32, 0, 0, target)
        } else {
            let unpacked = codes.bytes(ofRows: rows, from: packed, scratch: table + tableFloats)
            ck_dot_entries(x.floats, unpacked, columns, rows, columns, table, Int32(codec.bits), target)
        }
    }
}
