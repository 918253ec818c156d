import AccelByteIO
import AccelTensors

/// The order of the rows of queries and keys. Checkpoints rotate element i of a head with element i + half; llama.cpp's
/// architecture `llama` rotates elements 2i and 2i + 1. Its files have the rows of each head in that order.
struct GGUFRows: Sendable {
    let heads: Int

    /// Whether the rows divide into heads of an even number.
    func fits(rows: Int) -> Bool { heads > 0 && rows % (2 * heads) == 0 }

    /// Returns the rows as files have them.
    /// - Parameter rows: a multiple of the heads, with an even number for each.
    func interleaved(_ bytes: ByteView, rows: Int) -> ByteView? {
        reordered(bytes, rows: rows) { (target, half) in target / 2 + target % 2 * half }
    }

    /// Returns the rows as checkpoints have them.
    func inHalves(_ bytes: ByteView, rows: Int) -> ByteView? {
        reordered(bytes, rows: rows) { (target, half) in target < half ? 2 * target : 2 * (target - half) + 1 }
    }

    /// - Parameter source: returns the row of a head that a row is taken from, and is given half of the rows of a head.
    /// - Returns: nil if the rows do not divide into heads of an even number.
    private func reordered(_ bytes: ByteView, rows: Int, from source: (Int, Int) -> Int) -> ByteView? {
        guard fits(rows: rows) else { return nil }
        guard rows > 0 else { return bytes }
        let (width, perHead) = (bytes.count / rows, rows / heads)
        let target = ByteBuffer(count: bytes.count)
        bytes.withBytes { bytes in
            for row in 0..<rows {
                let from = row - row % perHead + source(row % perHead, perHead / 2)
                UnsafeMutableRawBufferPointer(rebasing: target.bytes[row * width..<(row + 1) * width])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[from * width..<(from + 1) * width]))
            }
        }
        return ByteView(target)
    }
}
