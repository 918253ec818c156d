/// Sorts finite floats, and what goes with them, in linear time.
enum RadixSort {
    /// Sorts `values` ascending; -0 and 0 count as equal to the caller but stand in this order.
    /// - Parameter scratch: as many elements again.
    static func sort(_ values: UnsafeMutableBufferPointer<Float>, scratch: UnsafeMutableBufferPointer<Float>) {
        values.withMemoryRebound(to: UInt32.self) { keys in
            scratch.withMemoryRebound(to: UInt32.self) { other in
                for index in keys.indices { keys[index] = ordered(keys[index]) }
                let swapped = passes(keys, other)
                let sorted = swapped ? other : keys
                for index in sorted.indices { keys[index] = unordered(sorted[index]) }
            }
        }
    }

    /// The indices of `values` in ascending order of the values; equal values keep their order.
    static func order(_ values: UnsafeBufferPointer<Float>) -> [UInt32] {
        var keys = values.indices.map { UInt64(ordered(values[$0].bitPattern)) << 32 | UInt64($0) }
        keys.sort()
        return keys.map { UInt32(truncatingIfNeeded: $0) }
    }

    /// Bits that compare as unsigned integers as the floats do.
    private static func ordered(_ bits: UInt32) -> UInt32 {
        bits ^ (UInt32(bitPattern: Int32(bitPattern: bits) >> 31) | 0x8000_0000)
    }
    private static func unordered(_ bits: UInt32) -> UInt32 {
        bits ^ (UInt32(bitPattern: Int32(bitPattern: ~bits) >> 31) | 0x8000_0000)
    }

    /// Three passes of 11, 11 and 10 bits; passes in which all keys share their digit are left out.
    /// - Returns: whether the result is in `other`.
    private static func passes(
        _ keys: UnsafeMutableBufferPointer<UInt32>, _ other: UnsafeMutableBufferPointer<UInt32>
    ) -> Bool {
        guard let first = keys.baseAddress, let second = other.baseAddress else { return false }
        return withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 3 * 2048) { counts in
            counts.initialize(repeating: 0)
            for key in keys {
                counts[Int(key & 2047)] &+= 1
                counts[2048 + Int(key >> 11 & 2047)] &+= 1
                counts[4096 + Int(key >> 22)] &+= 1
            }
            var (source, target) = (first, second)
            for digit in 0..<3 {
                let shift = UInt32(11 * digit)
                let table = counts.baseAddress! + 2048 * digit
                if table[Int(source[0] >> shift & 2047)] == UInt32(keys.count) { continue }
                var sum: UInt32 = 0
                for slot in 0..<2048 {
                    let count = table[slot]
                    table[slot] = sum
                    sum &+= count
                }
                for index in 0..<keys.count {
                    let key = source[index]
                    let slot = Int(key >> shift & 2047)
                    target[Int(table[slot])] = key
                    table[slot] &+= 1
                }
                swap(&source, &target)
            }
            return source == second
        }
    }
}
