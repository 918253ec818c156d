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
            rows.forEachRun(sharing: codec.group, most: codes.rowsAtOnce) { run, group in
                if let group { codec.loadEntries(of: weight.tensor, group: group, into: table) }
                let unpacked = codes.bytes(
                    ofRows: run.count, from: packed + run.lowerBound * codes.rowBytes,
                    scratch: table + codec.entryCount)
                ck_dot_vectors(
                    x.floats, unpacked, codes.count, run.count, weight.columns, table, codec.size,
                    target + (run.lowerBound - rows.lowerBound))
            }
        }
    }
}
