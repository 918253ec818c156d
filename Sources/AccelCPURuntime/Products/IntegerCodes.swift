import AccelByteIO
import AccelTensors
import AccelWeightCompression
import CAccelKernels

/// The rows of a weight that is stored as integers: an element is `scale * code + shift`, with a scale and a shift for each
/// block of columns. Codes are whole numbers from -128 to 127.
struct IntegerCodes {
    private enum Encoding {
        case int8(Int8Codec)
        case blocks(BlockScaledCodes)
    }
    private let weight: StoredWeight
    private let encoding: Encoding
    private let byteCodes: ByteCodes
    /// Columns of a block, and blocks of a row.
    let (block, blocks): (Int, Int)
    let hasShifts: Bool
    /// A code is `(stored ^ flipped) - middle`, in 8 bits.
    let (flipped, middle): (UInt8, UInt8)
    /// The bits of a code.
    var bits: Int { byteCodes.bits }
    /// The codes are packed in bytes, four bits each.
    var areNibbles: Bool { bits == 4 }
    /// The sum of the products of a block has to fit into 32 bits.
    private static let mostColumns = 1 << 16

    /// nil for another encoding.
    init?(_ weight: StoredWeight) {
        self.weight = weight
        let columns = weight.columns
        if let codec = weight.tensor.codec as? Int8Codec {
            encoding = .int8(codec)
            byteCodes = ByteCodes(bits: 8, count: columns)
            (block, blocks, hasShifts, flipped, middle) = (columns, 1, !codec.isSymmetric, 0, 0)
        } else if let codec = weight.tensor.codec as? any BlockScaledCodec {
            let codes = codec.blockScaledCodes(weight.shape)
            switch codes.values {
            case .signed where codes.bits == 4: (flipped, middle) = (8, 8)
            case .biased: (flipped, middle) = (0, 1 << (UInt8(codes.bits) - 1))
            default: return nil
            }
            encoding = .blocks(codes)
            byteCodes = ByteCodes(bits: codes.bits, count: columns)
            (block, blocks) = (codes.block, codes.blocks)
            if case .none = codes.shifts { hasShifts = false } else { hasShifts = true }
        } else {
            return nil
        }
        guard columns > 0, min(block, columns) <= Self.mostColumns, blocks == 1 || block % 2 == 0 else { return nil }
    }

    var columns: Int { weight.columns }
    /// The bytes of a row as it is stored.
    var rowBytes: Int { byteCodes.rowBytes }
    /// Rows whose codes are unpacked at once.
    var rowsAtOnce: Int { byteCodes.rowsAtOnce }

    /// Calls `body` with the stored codes of the rows from `row` on.
    func withCodes(from row: Int, _ body: (UnsafePointer<UInt8>) -> Void) {
        weight.tensor.sections[0].withBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            body(start.assumingMemoryBound(to: UInt8.self) + row * rowBytes)
        }
    }

    /// Floats of scratch memory that `bytes` needs for so many rows.
    func scratchFloats(rows: Int) -> Int { byteCodes.scratchFloats(allRows: rows) }

    /// Returns the stored codes of some rows, one byte each, `columns` a row.
    func bytes(
        ofRows rows: Int, from packed: UnsafePointer<UInt8>, scratch: UnsafeMutablePointer<Float>
    ) -> UnsafePointer<UInt8> {
        byteCodes.bytes(ofRows: rows, from: packed, scratch: scratch)
    }

    /// The scales are float16, `blocks` of each row after those of the row before it, and there are no shifts: kernels may read
    /// them where they are stored.
    var haveHalfScales: Bool {
        guard case .blocks(let codes) = encoding, !hasShifts else { return false }
        return codes.rowsPerScale == 1 && codes.scaleType == .float16
    }

    /// Calls `body` with the stored scales of the rows from `row` on; nil unless `haveHalfScales`.
    func withHalfScales(from row: Int, _ body: (UnsafePointer<UInt16>?) -> Void) {
        guard haveHalfScales else { return body(nil) }
        weight.tensor.sections[1].withBytes { bytes in
            body(bytes.baseAddress.map { $0.assumingMemoryBound(to: UInt16.self) + row * blocks })
        }
    }

    /// Reads scales, and shifts if there are any: `blocks` of each row.
    func load(
        _ rows: Range<Int>, scales: UnsafeMutablePointer<Float>, shifts: UnsafeMutablePointer<Float>
    ) {
        switch encoding {
        case .int8(let codec):
            codec.loadScales(of: rows, of: weight.tensor, into: scales)
            guard hasShifts else { return }
            codec.loadZeros(of: rows, of: weight.tensor, into: shifts)
            for index in 0..<rows.count { shifts[index] *= -scales[index] }
        case .blocks(let codes):
            weight.tensor.sections[1].withBytes { section in
                if codes.rowsPerScale == 1 {
                    return codes.scaleType.load(
                        section, rows.lowerBound * blocks..<rows.upperBound * blocks, into: scales)
                }
                for row in rows {
                    let first = row / codes.rowsPerScale * blocks
                    codes.scaleType.load(
                        section, first..<first + blocks, into: scales + (row - rows.lowerBound) * blocks)
                }
            }
            loadShifts(codes, rows, scales: scales, into: shifts)
        }
    }

    private func loadShifts(
        _ codes: BlockScaledCodes, _ rows: Range<Int>, scales: UnsafePointer<Float>,
        into shifts: UnsafeMutablePointer<Float>
    ) {
        let count = rows.count * blocks
        switch codes.shifts {
        case .none: break
        case .biases:
            // A bias is the weight of stored code 0, which is `middle` below code 0.
            weight.tensor.sections[2].withBytes { section in
                codes.scaleType.load(section, rows.lowerBound * blocks..<rows.upperBound * blocks, into: shifts)
            }
            for index in 0..<count { shifts[index] += scales[index] * Float(middle) }
        case .zeros(let zeroBytes):
            weight.tensor.sections[2].withBytes { section in
                for index in 0..<count {
                    let (row, block) = (rows.lowerBound + index / blocks, index % blocks)
                    let nibble = section[row * zeroBytes + block / 2] >> (block % 2 * 4) & 15
                    shifts[index] = -scales[index] * Float(Int8(bitPattern: nibble << 4) >> 4)
                }
            }
        }
    }
}
