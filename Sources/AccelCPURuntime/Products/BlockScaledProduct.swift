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
    /// The codes as bytes, unless they are of four bits.
    private let byteCodes: ByteCodes

    init?(_ weight: StoredWeight) {
        guard let codec = weight.tensor.codec as? any BlockScaledCodec else { return nil }
        (self.weight, self.codec, codes) = (weight, codec, codec.blockScaledCodes(weight.shape))
        switch codes.values {
        // Their kernels read four bits.
        case .table, .signed: guard codes.bits == 4 else { return nil }
        case .biased, .float8: break
        }
        byteCodes = ByteCodes(bits: codes.bits, count: weight.columns)
    }

    var readsInterleaved: Bool { codes.bits == 4 }
    var reason: String {
        let way = if case .table = codes.values { "entries looked up" } else { "codes multiplied" }
        return "\(weight.encoding) \(way) in registers (\(VectorProducts.instructionSet))"
            + (hasShifts ? ", shifts with sums of blocks" : "")
    }

    private var hasShifts: Bool { if case .none = codes.shifts { false } else { true } }
    private var scaleKind: ck_type {
        switch codes.scaleType {
        case .float16: CK_F16
        case .bfloat16: CK_BF16
        case .float32: CK_F32
        }
    }

    private var areNibbles: Bool { codes.bits == 4 }
    /// The sums of the vector's blocks, with zeros up to whole vectors of sixteen.
    private var sumCount: Int { hasShifts ? (codes.blocks + 15) / 16 * 16 : 0 }

    /// The number of scales of so many rows that are loaded before a product.
    private func loadedScales(_ rows: Int) -> Int { codes.hasScalesToLoad ? rows * codes.blocks : 0 }

    func scratchFloats(rows: Int) -> Int {
        sumCount + (hasShifts ? rows : 0) + loadedScales(rows) + (areNibbles ? 0 : byteCodes.scratchFloats(rows: rows))
    }

    func multiply(
        _ rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        scratch: UnsafeMutablePointer<Float>
    ) {
        let loaded = scratch + sumCount + (hasShifts ? rows.count : 0)
        let unpacked = loaded + loadedScales(rows.count)
        if codes.hasScalesToLoad { codec.loadScales(ofRows: rows, of: weight.tensor, into: loaded) }
        let scaleBytes = codes.blocks * codes.scaleType.byteCount
        withSection(0) { packed in
            withSection(1) { scales in
                var start = rows.lowerBound
                while start < rows.upperBound {
                    var end = rows.upperBound
                    if !areNibbles { end = min(end, start + byteCodes.rowsAtOnce) }
                    if codes.rowsPerScale > 1 { end = min(end, (start / codes.rowsPerScale + 1) * codes.rowsPerScale) }
                    multiply(
                        end - start, (packed + start * codes.rowBytes).assumingMemoryBound(to: UInt8.self), with: x,
                        codes.hasScalesToLoad
                            ? UnsafeRawPointer(loaded + (start - rows.lowerBound) * codes.blocks)
                            : scales + start / codes.rowsPerScale * scaleBytes,
                        into: target + (start - rows.lowerBound),
                        unpacked: unpacked)
                    start = end
                }
            }
        }
        addShifts(of: rows, with: x, into: target, sums: scratch, products: scratch + sumCount)
    }

    /// Calls `body` with a section of the weight.
    private func withSection(_ index: Int, _ body: (UnsafeRawPointer) -> Void) {
        weight.tensor.sections[index].withBytes { bytes in
            if let start = bytes.baseAddress { body(start) }
        }
    }

    private func multiply(
        _ rows: Int, _ packed: UnsafePointer<UInt8>, with x: DotVector, _ scales: UnsafeRawPointer,
        into target: UnsafeMutablePointer<Float>, unpacked: UnsafeMutablePointer<Float>
    ) {
        let (columns, bytes, blocks, block) = (weight.columns, codes.rowBytes, codes.blocks, codes.block)
        switch codes.values {
        case .table(let table):
            ck_dot_codes4(x.interleaved, packed, bytes, rows, columns, table, scales, scaleKind, blocks, block, target)
        case .signed:
            ck_dot_nibbles(x.interleaved, packed, bytes, rows, columns, 0, scales, scaleKind, blocks, block, target)
        case .biased where areNibbles:
            ck_dot_nibbles(x.interleaved, packed, bytes, rows, columns, 1, scales, scaleKind, blocks, block, target)
        case .float8(let isE5M2):
            ck_dot_float8(
                x.floats, packed, bytes, rows, columns, isE5M2 ? 1 : 0, scales.assumingMemoryBound(to: Float.self),
                codes.rowsPerScale > 1 ? 0 : blocks, blocks, block, target)
        case .biased:
            ck_dot_bytes(
                x.floats, byteCodes.bytes(ofRows: rows, from: packed, scratch: unpacked), columns, rows, columns,
                Int32(codes.bits), scales, scaleKind, blocks, block, target)
        }
    }

    /// The offset subtracted from biased codes.
    private var middle: Int { 1 << (codes.bits - 1) }

    private func addShifts(
        of rows: Range<Int>, with x: DotVector, into target: UnsafeMutablePointer<Float>,
        sums: UnsafeMutablePointer<Float>, products: UnsafeMutablePointer<Float>
    ) {
        guard hasShifts else { return }
        let (first, count, blocks) = (rows.lowerBound, rows.count, codes.blocks)
        ck_sum_blocks(x.floats, weight.columns, codes.block, sums)
        for index in blocks..<sumCount { sums[index] = 0 }
        let scaleBytes = blocks * codes.scaleType.byteCount
        withSection(1) { section in
            let scales = section + first * scaleBytes
            switch codes.shifts {
            case .none: break
            case .biases:
                withSection(2) { biases in
                    ck_dot_biases(
                        sums, scales, biases + first * scaleBytes, scaleKind, Float(middle), count, blocks, products)
                }
            case .zeros(let zeroBytes):
                withSection(2) { zeros in
                    ck_dot_zeros(
                        sums, scales, scaleKind, (zeros + first * zeroBytes).assumingMemoryBound(to: UInt8.self),
                        zeroBytes, count, blocks, products)
                }
            }
        }
        for index in 0..<count { target[index] += products[index] }
    }
}
