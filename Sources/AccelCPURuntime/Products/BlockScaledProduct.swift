import AccelByteIO
import AccelWeightCompression
import CAccelKernels

/// Codes whose blocks share a scale: they are multiplied or looked up in registers and summed block by block before their
/// scale comes in. The shift of a block, where there is one, is multiplied with the sum of its block of the vector.
struct BlockScaledProduct: VectorProduct {
    private let weight: StoredWeight
    private let codec: any BlockScaledCodec
    private let codes: BlockScaledCodes
    private let rowsAtOnce: Int

    init?(_ weight: StoredWeight) {
        guard let codec = weight.tensor.codec as? any BlockScaledCodec else { return nil }
        let codes = codec.blockScaledCodes(weight.shape)
        (self.weight, self.codec, self.codes) = (weight, codec, codes)
        // As many as keep the codes and the scales in the first cache level.
        rowsAtOnce = max(4, codes.hasShifts ? (1 << 13) / max(weight.columns, 1) : (1 << 12) / max(codes.blocks, 1))
    }

    var readsInterleaved: Bool { codes.bits == 4 }
    var reason: String {
        let way = if case .table = codes.values { "entries looked up" } else { "codes multiplied" }
        return "\(weight.encoding) \(way) in registers (\(VectorProducts.instructionSet))"
            + (codes.hasShifts ? ", shifts with sums of blocks" : "")
    }

    func scratchFloats(rows: Int) -> Int { Scratch(codes, rows: min(rows, rowsAtOnce), columns: weight.columns).end }

    /// Where the parts of scratch memory begin, in floats. The scales are first.
    private struct Scratch {
        /// Empty without shifts, as the next two are: the sums of the vector's blocks, and the shifts' products.
        let (shifts, sums, products): (Int, Int, Int)
        /// Codes of one byte, for bits that products do not read.
        let unpacked: Int
        let end: Int

        init(_ codes: BlockScaledCodes, rows: Int, columns: Int) {
            shifts = rows * codes.blocks
            sums = shifts + (codes.hasShifts ? rows * codes.blocks : 0)
            products = sums + (codes.hasShifts ? codes.blocks : 0)
            unpacked = products + (codes.hasShifts ? rows : 0)
            end = unpacked + (codes.bits == 4 || codes.bits == 8 ? 0 : (rows * columns + 3) / 4)
        }
    }

    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch: UnsafeMutablePointer<Float>
    ) {
        let count = min(rows.count, rowsAtOnce), blocks = codes.blocks
        let parts = Scratch(codes, rows: count, columns: weight.columns)
        let scales = scratch, shifts = scratch + parts.shifts, sums = scratch + parts.sums
        let products = scratch + parts.products, unpacked = scratch + parts.unpacked
        if codes.hasShifts { ck_sum_blocks(x.floats, weight.columns, codes.block, sums) }
        for start in stride(from: rows.lowerBound, to: rows.upperBound, by: count) {
            let part = start..<min(start + count, rows.upperBound)
            let target = target + (start - rows.lowerBound)
            codec.loadScales(of: part, of: weight.tensor, into: scales, shifts: shifts)
            weight.tensor.sections[0].withBytes { bytes in
                guard let packed = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
                multiply(
                    part.count, packed + part.lowerBound * codes.rowBytes, with: x, scales, into: target,
                    unpacked: UnsafeMutableRawPointer(unpacked))
            }
            guard codes.hasShifts else { continue }
            ck_dot(sums, shifts, blocks, part.count, blocks, products)
            for index in 0..<part.count { target[index] += products[index] }
        }
    }

    private func multiply(
        _ rows: Int, _ packed: UnsafePointer<UInt8>, with x: DotVector, _ scales: UnsafePointer<Float>,
        into target: UnsafeMutablePointer<Float>, unpacked: UnsafeMutableRawPointer
    ) {
        let (columns, bytes, blocks, block) = (weight.columns, codes.rowBytes, codes.blocks, codes.block)
        switch codes.values {
        case .table(let table):
            ck_dot_codes4(x.interleaved, packed, bytes, rows, columns, table, scales, blocks, block, target)
        case .signed:
            ck_dot_nibbles(x.interleaved, packed, bytes, rows, columns, 8, 8, scales, blocks, block, target)
        case .unsigned(let zero) where codes.bits == 4:
            ck_dot_nibbles(x.interleaved, packed, bytes, rows, columns, 0, zero, scales, blocks, block, target)
        case .unsigned(let zero):
            var codes = packed
            if self.codes.bits != 8 {
                let target = unpacked.assumingMemoryBound(to: UInt8.self)
                for row in 0..<rows {
                    ck_unpack_codes(packed + row * bytes, Int32(self.codes.bits), columns, target + row * columns)
                }
                codes = UnsafePointer(target)
            }
            ck_dot_bytes(x.floats, codes, columns, rows, columns, zero, scales, blocks, block, target)
        }
    }
}
