import AccelByteIO
import AccelTensors

/// Codes in words of 32 bits: a bit stream along rows or down columns, lowest bits first.
enum PackedWords {
    /// Returns the codes of each row: of words [rows, n], the first `count` of each row.
    static func alongRows(_ tensor: StoredTensor, bits: Int, count: Int) -> [UInt8] {
        let (rows, columns) = tensor.shape.matrix
        return codes(tensor, bits, lines: rows, count: count) { line, word in line * columns + word }
    }

    /// Returns the codes of each column: of words [n, columns], the first `count` of each column, one column after the other.
    static func downColumns(_ tensor: StoredTensor, bits: Int, count: Int) -> [UInt8] {
        let columns = tensor.shape.matrix.columns
        return codes(tensor, bits, lines: columns, count: count) { line, word in word * columns + line }
    }

    /// - Parameter position: the index of a line's word. All words that `count` codes take exist.
    private static func codes(
        _ tensor: StoredTensor, _ bits: Int, lines: Int, count: Int, position: (_ line: Int, _ word: Int) -> Int
    ) -> [UInt8] {
        tensor.bytes.withBytes { bytes in
            var codes = [UInt8](repeating: 0, count: lines * count)
            let mask = UInt64(1) << UInt64(bits) - 1
            for line in 0..<lines {
                var (stream, filled, word) = (UInt64(0), 0, 0)
                for index in 0..<count {
                    if filled < bits {
                        let next = bytes.loadUnaligned(fromByteOffset: 4 * position(line, word), as: UInt32.self)
                        stream |= UInt64(next) << UInt64(filled)
                        (filled, word) = (filled + 32, word + 1)
                    }
                    codes[line * count + index] = UInt8(truncatingIfNeeded: stream & mask)
                    stream >>= UInt64(bits)
                    filled -= bits
                }
            }
            return codes
        }
    }

    /// The number of words that so many codes take.
    static func count(_ codes: Int, bits: Int) -> Int { (codes * bits + 31) / 32 }
}

extension Array {
    /// Returns the transpose of a matrix of so many rows.
    func transposed(rows: Int) -> [Element] {
        guard rows > 0 else { return self }
        let columns = count / rows
        // The rows whose elements stay in the L1 cache.
        let step = 64
        return withUnsafeBufferPointer { source in
            Array(unsafeUninitializedCapacity: count) { target, count in
                for first in stride(from: 0, to: rows, by: step) {
                    for column in 0..<columns {
                        for row in first..<Swift.min(first + step, rows) {
                            target.initializeElement(at: column * rows + row, to: source[row * columns + column])
                        }
                    }
                }
                count = rows * columns
            }
        }
    }
}
