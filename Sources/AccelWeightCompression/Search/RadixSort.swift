/// Sorts finite floats, or their indices, in linear time.
enum RadixSort {
    /// Sorts `values` ascending; -0 comes before 0.
    /// - Parameter scratch: has the same number of elements.
    static func sort(_ values: UnsafeMutableBufferPointer<Float>, scratch: UnsafeMutableBufferPointer<Float>) {
        values.withMemoryRebound(to: UInt32.self) { keys in
            scratch.withMemoryRebound(to: UInt32.self) { other in
                for index in keys.indices { keys[index] = ordered(keys[index]) }
                let swapped = passes(keys, other, above: 0)
                let sorted = swapped ? other : keys
                for index in sorted.indices { keys[index] = unordered(sorted[index]) }
            }
        }
    }

    /// Returns the indices of `values` in ascending order of the values; equal values keep their order.
    static func order(_ values: UnsafeBufferPointer<Float>) -> [UInt32] {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 2 * values.count) { keys in
            let first = UnsafeMutableBufferPointer(rebasing: keys[..<values.count])
            let second = UnsafeMutableBufferPointer(rebasing: keys[values.count...])
            for index in values.indices {
                first[index] = UInt64(ordered(values[index].bitPattern)) << 32 | UInt64(index)
            }
            let sorted = passes(first, second, above: 32) ? second : first
            return sorted.map { UInt32(truncatingIfNeeded: $0) }
        }
    }

    /// Returns bits whose order as unsigned integers is the order of the floats.
    private static func ordered(_ bits: UInt32) -> UInt32 {
        bits ^ (UInt32(bitPattern: Int32(bitPattern: bits) >> 31) | 0x8000_0000)
    }
    private static func unordered(_ bits: UInt32) -> UInt32 {
        bits ^ (UInt32(bitPattern: Int32(bitPattern: ~bits) >> 31) | 0x8000_0000)
    }

    /// Runs three passes of 11, 11 and 10 bits; a pass in which all keys have the same digit is skipped.
    /// - Parameter offset: the lowest of the 32 bits to sort by.
    /// - Returns: Whether the result is in `other`.
    private static func passes<Key: FixedWidthInteger & UnsignedInteger>(
        _ keys: UnsafeMutableBufferPointer<Key>, _ other: UnsafeMutableBufferPointer<Key>, above offset: Int
    ) -> Bool {
        guard !keys.isEmpty, let first = keys.baseAddress, let second = other.baseAddress else { return false }
        func digit(_ key: Key, _ number: Int) -> Int {
            Int(truncatingIfNeeded: key &>> Key(offset + 11 * number)) & 2047
        }
        return withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 3 * 2048) { counts in
            counts.initialize(repeating: 0)
            for key in keys {
                for number in 0..<3 { counts[2048 * number + digit(key, number)] &+= 1 }
            }
            var (source, target) = (first, second)
            for number in 0..<3 {
                let table = counts.baseAddress! + 2048 * number
                if table[digit(source[0], number)] == UInt32(keys.count) { continue }
                var sum: UInt32 = 0
                for slot in 0..<2048 {
                    let count = table[slot]
                    table[slot] = sum
                    sum &+= count
                }
                for index in 0..<keys.count {
                    let key = source[index]
                    let slot = digit(key, number)
                    target[Int(table[slot])] = key
                    table[slot] &+= 1
                }
                swap(&source, &target)
            }
            return source == second
        }
    }
}
