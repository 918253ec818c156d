import AccelByteIO
import AccelWeightCompression
import CAccelKernels

/// Blocks of ggml, whose codes are widened in registers and summed part by part before their scale comes in. The minimum of a part,
/// where there is one, is multiplied with the sum of its part of the vector.
struct GGMLProduct: VectorProduct {
    private let weight: StoredWeight
    private let format: GGMLFormat
    private let rowBytes: Int

    init?(_ weight: StoredWeight) {
        guard let codec = weight.tensor.codec as? GGMLCodec else { return nil }
        self.weight = weight
        format = codec.format
        rowBytes = codec.bytesPerRow(weight.shape)
    }

    private var blocks: Int { rowBytes / format.bytes }
    /// Columns in whole blocks.
    private var columns: Int { blocks * format.elements }
    /// The vector with zeros up to whole blocks, where the last one has columns to spare.
    private var paddedCount: Int { columns == weight.columns ? 0 : columns }
    private var sumCount: Int { format.hasMinima ? columns / format.part : 0 }

    var readsInterleaved: Bool { false }
    var reason: String {
        "\(weight.encoding) codes multiplied in registers (\(VectorProducts.instructionSet))"
            + (format.hasMinima ? ", minima with sums of parts" : "")
    }
    func scratchFloats(rows: Int) -> Int { paddedCount + sumCount }

    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch: UnsafeMutablePointer<Float>
    ) {
        var vector = x.floats
        if paddedCount > 0 {
            scratch.update(from: x.floats, count: weight.columns)
            (scratch + weight.columns).update(repeating: 0, count: columns - weight.columns)
            vector = UnsafePointer(scratch)
        }
        let sums = scratch + paddedCount
        if format.hasMinima { ck_sum_blocks(vector, columns, format.part, sums) }
        weight.tensor.sections[0].withBytes { bytes in
            guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            ck_ggml_dot(
                ck_ggml_type(rawValue: format.number), vector, sums, start + rows.lowerBound * rowBytes, rowBytes,
                rows.count, blocks, target)
        }
    }
}
