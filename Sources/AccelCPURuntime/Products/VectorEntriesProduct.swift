import AccelByteIO
import AccelWeightCompression
import CAccelKernels

/// Codes of short vectors: entries of several elements are read from the table where they are multiplied.
struct VectorEntriesProduct: VectorProduct {
    private let weight: StoredWeight
    private let codec: VectorCodec
    private let codes: ByteCodes

    init?(_ weight: StoredWeight) {
        guard let codec = weight.tensor.codec as? VectorCodec else { return nil }
        (self.weight, self.codec) = (weight, codec)
        codes = ByteCodes(bits: codec.bits, count: codec.perRow(weight.shape))
    }

    var readsInterleaved: Bool { false }
    var reason: String {
        "\(codec.specification) entries read where they are multiplied (\(VectorProducts.instructionSet))"
    }
    func scratchFloats(rows: Int) -> Int { codec.entryCount + codes.scratchFloats(rows: rows) }

    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch table: UnsafeMutablePointer<Float>
    ) {
        weight.tensor.sections[0].withBytes { bytes in
            guard let packed = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            var (start, current) = (rows.lowerBound, -1)
            while start < rows.upperBound {
                let group = codec.groupIndex(start)
                let last = codec.group.map { (group + 1) * $0 } ?? rows.upperBound
                let count = min(last, rows.upperBound, start + codes.rowsAtOnce) - start
                if group != current { codec.loadEntries(of: weight.tensor, group: group, into: table) }
                let unpacked = codes.bytes(
                    ofRows: count, from: packed + start * codes.rowBytes, scratch: table + codec.entryCount)
                ck_dot_vectors(
                    x.floats, unpacked, codes.count, count, weight.columns, table, codec.size,
                    target + (start - rows.lowerBound))
                (start, current) = (start + count, group)
            }
        }
    }
}
