import AccelByteIO
import AccelWeightCompression
import CAccelKernels

/// Codes whose blocks have a scale and a shift, `scale * code + shift`: the codes are multiplied in registers and summed
/// block by block before their scale comes in; a shift is multiplied with the sum of its block of the vector.
struct ShiftedProduct: VectorProduct {
    private let weight: StoredWeight
    private let codec: any ShiftedCodec
    private let codes: ShiftedCodes
    private let rowsAtOnce: Int

    init?(_ weight: StoredWeight) {
        guard let codec = weight.tensor.codec as? any ShiftedCodec, let codes = codec.shiftedCodes(of: weight.tensor)
        else { return nil }
        (self.weight, self.codec, self.codes) = (weight, codec, codes)
        // As many as keep the codes and the scales in the first cache level.
        rowsAtOnce = max(4, (1 << 13) / max(weight.columns, 1))
    }

    var readsPairs: Bool { codes.bits == 4 }
    var reason: String {
        "\(weight.encoding) codes multiplied in registers (\(VectorProducts.instructionSet)), shifts with sums of blocks"
    }

    /// Scales, shifts, sums of the vector's blocks, the shifts' products, and codes of one byte.
    func scratchFloats(rows: Int) -> Int {
        let rows = min(rows, rowsAtOnce)
        return (2 * rows + 1) * codes.blocks + rows + (isUnpacked ? (rows * weight.columns + 3) / 4 : 0)
    }

    private var isUnpacked: Bool { codes.bits != 4 && codes.bits != 8 }

    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch: UnsafeMutablePointer<Float>
    ) {
        let count = min(rows.count, rowsAtOnce), blocks = codes.blocks
        let sums = scratch, scales = sums + blocks, shifts = scales + count * blocks, products = shifts + count * blocks
        ck_sum_blocks(x.floats, weight.columns, codes.block, sums)
        for start in stride(from: rows.lowerBound, to: rows.upperBound, by: count) {
            let part = start..<min(start + count, rows.upperBound)
            let target = target + (start - rows.lowerBound)
            codec.loadShifts(of: part, of: weight.tensor, scales: scales, shifts: shifts)
            weight.tensor.sections[0].withBytes { bytes in
                guard let packed = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
                multiply(
                    part, packed, with: x, scales, into: target, unpacked: UnsafeMutableRawPointer(products + count))
            }
            ck_dot(sums, shifts, blocks, part.count, blocks, products)
            for index in 0..<part.count { target[index] += products[index] }
        }
    }

    private func multiply(
        _ rows: Range<Int>, _ packed: UnsafePointer<UInt8>, with x: DotVector, _ scales: UnsafePointer<Float>,
        into target: UnsafeMutablePointer<Float>, unpacked: UnsafeMutableRawPointer
    ) {
        let columns = weight.columns, rowBytes = codes.rowBytes
        var bytes = packed + rows.lowerBound * rowBytes
        if codes.bits == 4 {
            return ck_dot_nibbles(
                x.pairs, bytes, rowBytes, rows.count, columns, codes.isSigned ? 8 : 0,
                codes.zero + (codes.isSigned ? 8 : 0), scales, codes.blocks, codes.block, target)
        }
        if isUnpacked {
            let target = unpacked.assumingMemoryBound(to: UInt8.self)
            for index in 0..<rows.count {
                ck_unpack_codes(bytes + index * rowBytes, Int32(codes.bits), columns, target + index * columns)
            }
            bytes = UnsafePointer(target)
        }
        ck_dot_bytes(
            x.floats, bytes, columns, rows.count, columns, codes.zero, scales, codes.blocks, codes.block, target)
    }
}
