import AccelByteIO
import AccelTensors
import AccelWeightCompression
import CAccelKernels

/// Codes whose blocks share a scale: they are multiplied or looked up in registers and summed block by block before their
/// scale comes in. The shift of a block, where there is one, is multiplied with the sum of its block of the vector.
struct BlockScaledProduct: VectorProduct {
    private let weight: StoredWeight
    private let codec: any BlockScaledCodec
    private let codes: BlockScaledCodes
    /// Whether scales are read as float32 before the product; else the product reads them where they are.
    private let loadsScales: Bool
    private let rowsAtOnce: Int

    init?(_ weight: StoredWeight) {
        guard let codec = weight.tensor.codec as? any BlockScaledCodec else { return nil }
        let codes = codec.blockScaledCodes(weight.shape)
        (self.weight, self.codec, self.codes) = (weight, codec, codes)
        loadsScales = codes.hasShifts || codes.bits != 4
        // As many as keep the codes and what is computed of them in the first cache level.
        rowsAtOnce = loadsScales ? max(4, (1 << 13) / max(weight.columns, 1)) : .max
    }

    var readsInterleaved: Bool { codes.bits == 4 }
    var reason: String {
        let way = if case .table = codes.values { "entries looked up" } else { "codes multiplied" }
        return "\(weight.encoding) \(way) in registers (\(VectorProducts.instructionSet))"
            + (codes.hasShifts ? ", shifts with sums of blocks" : "")
    }

    func scratchFloats(rows: Int) -> Int { Scratch(self, rows: min(rows, rowsAtOnce)).end }

    /// Where the parts of scratch memory begin, in floats. The scales are first, where they are loaded.
    private struct Scratch {
        /// With shifts: the shifts, the sums of the vector's blocks, and the shifts' products.
        let (shifts, sums, products): (Int, Int, Int)
        /// Codes of one byte, for bits that products do not read.
        let unpacked: Int
        let end: Int

        init(_ product: BlockScaledProduct, rows: Int) {
            let codes = product.codes
            shifts = product.loadsScales ? rows * codes.blocks : 0
            sums = shifts + (codes.hasShifts ? rows * codes.blocks : 0)
            products = sums + (codes.hasShifts ? codes.blocks : 0)
            unpacked = products + (codes.hasShifts ? rows : 0)
            end = unpacked + (codes.bits == 4 || codes.bits == 8 ? 0 : (rows * product.weight.columns + 3) / 4)
        }
    }

    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch: UnsafeMutablePointer<Float>
    ) {
        guard !rows.isEmpty else { return }
        let count = min(rows.count, rowsAtOnce), blocks = codes.blocks
        let parts = Scratch(self, rows: count)
        let loaded = scratch, shifts = scratch + parts.shifts, sums = scratch + parts.sums
        let products = scratch + parts.products, unpacked = scratch + parts.unpacked
        if codes.hasShifts { ck_sum_blocks(x.floats, weight.columns, codes.block, sums) }
        for start in stride(from: rows.lowerBound, to: rows.upperBound, by: count) {
            let part = start..<min(start + count, rows.upperBound)
            let target = target + (start - rows.lowerBound)
            if loadsScales { codec.loadScales(of: part, of: weight.tensor, into: loaded) }
            withCodesAndScales(of: part) { codes, stored, type in
                let (scales, type) = loadsScales ? (UnsafeRawPointer(loaded), CK_F32) : (stored, type)
                multiply(part.count, codes, with: x, scales, type, into: target, unpacked: unpacked)
            }
            guard codes.hasShifts else { continue }
            codec.loadShifts(of: part, of: weight.tensor, scales: loaded, into: shifts)
            ck_dot(sums, shifts, blocks, part.count, blocks, products)
            for index in 0..<part.count { target[index] += products[index] }
        }
    }

    /// Calls `body` with the codes and the scales of some rows.
    private func withCodesAndScales(
        of rows: Range<Int>, _ body: (UnsafePointer<UInt8>, UnsafeRawPointer, ck_type) -> Void
    ) {
        weight.tensor.sections[0].withBytes { packed in
            weight.tensor.sections[1].withBytes { scales in
                guard let packed = packed.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    let scales = scales.baseAddress
                else { return }
                body(
                    packed + rows.lowerBound * codes.rowBytes,
                    scales + rows.lowerBound * codes.blocks * codes.scaleType.byteCount,
                    codes.scaleType == .float16 ? CK_F16 : CK_F32)
            }
        }
    }

    private func multiply(
        _ rows: Int, _ packed: UnsafePointer<UInt8>, with x: DotVector, _ scales: UnsafeRawPointer, _ type: ck_type,
        into target: UnsafeMutablePointer<Float>, unpacked: UnsafeMutablePointer<Float>
    ) {
        let (columns, bytes, blocks, block) = (weight.columns, codes.rowBytes, codes.blocks, codes.block)
        switch codes.values {
        case .table(let table):
            ck_dot_codes4(x.interleaved, packed, bytes, rows, columns, table, scales, type, blocks, block, target)
        case .signed:
            ck_dot_nibbles(x.interleaved, packed, bytes, rows, columns, 0, scales, type, blocks, block, target)
        case .biased where codes.bits == 4:
            ck_dot_nibbles(x.interleaved, packed, bytes, rows, columns, 1, scales, type, blocks, block, target)
        case .biased:
            var codes = packed
            if self.codes.bits != 8 {
                let target = UnsafeMutableRawPointer(unpacked).assumingMemoryBound(to: UInt8.self)
                for row in 0..<rows {
                    ck_unpack_codes(packed + row * bytes, Int32(self.codes.bits), columns, target + row * columns)
                }
                codes = UnsafePointer(target)
            }
            let zero = UInt8(1 << (self.codes.bits - 1))
            ck_dot_bytes(
                x.floats, codes, columns, rows, columns, zero, scales.assumingMemoryBound(to: Float.self), blocks,
                block, target)
        }
    }
}
