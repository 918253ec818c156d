import AccelTensors
import AccelWeightCompression
import CAccelKernels

/// Rows of codes of 1 to 8 bits, as one byte each: where they lie, or unpacked into scratch memory.
struct ByteCodes {
    let bits: Int
    /// The codes of a row.
    let count: Int
    /// The bytes of a row as it is stored.
    let rowBytes: Int

    init(bits: Int, count: Int) {
        (self.bits, self.count) = (bits, count)
        rowBytes = BitPacking.byteCount(count, bits: bits)
    }

    private var areBytes: Bool { bits == 8 }
    /// Rows that are unpacked at once: as many as stay in the first cache level.
    var rowsAtOnce: Int { areBytes ? Int.max >> 1 : max(4, (1 << 13) / max(count, 1)) }

    /// Floats of scratch memory that `bytes` needs for so many rows, or for those at once if they are fewer.
    func scratchFloats(rows: Int) -> Int { areBytes ? 0 : (min(rows, rowsAtOnce) * count + 3) / 4 }

    /// Floats of scratch memory that `bytes` needs for so many rows, even if they are more than those at once.
    func scratchFloats(allRows rows: Int) -> Int { areBytes ? 0 : (rows * count + 3) / 4 }

    /// Returns the codes of some rows, `count` bytes each.
    /// - Parameter packed: the first row as it is stored.
    func bytes(
        ofRows rows: Int, from packed: UnsafePointer<UInt8>, scratch: UnsafeMutablePointer<Float>
    ) -> UnsafePointer<UInt8> {
        if areBytes { return packed }
        let target = UnsafeMutableRawPointer(scratch).assumingMemoryBound(to: UInt8.self)
        for row in 0..<rows { ck_unpack_codes(packed + row * rowBytes, Int32(bits), count, target + row * count) }
        return UnsafePointer(target)
    }
}
