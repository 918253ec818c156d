import AccelByteIO

/// The inverse cosine transform of blocks of 8 x 8 coefficients. (ITU-T T.81, A.3.3.)
///
/// The standard leaves the rounding open. Here columns are transformed first, then rows, with the factors of Loeffler, Ligtenberg and
/// Moschytz (1989) in 13 bits, as the sums of their rounded terms, and with 2 more bits between the two: then samples are those of the
/// usual libraries.
enum InverseTransform {
    private typealias Row = SIMD8<Int32>

    /// Writes the samples of all blocks of a component: `stride` blocks in a row.
    /// - Parameter steps: those of the coefficients, in the order of the matrix.
    static func samples(of component: JPEGFrame.Component, steps: [UInt16]) -> [UInt8] {
        let (stride, width) = (component.stride, component.stride * 8)
        let blocks = component.coefficients.bytes.assumingMemoryBound(to: Int16.self)
        return [UInt8](unsafeUninitializedCapacity: width * component.rows * 8) { samples, count in
            let steps = (0..<8).map { row in
                var lanes = Row()
                for column in 0..<8 { lanes[column] = Int32(steps[row * 8 + column]) }
                return lanes
            }
            for index in 0..<stride * component.rows {
                let block = UnsafeMutableBufferPointer(rebasing: blocks[index * 64..<(index + 1) * 64])
                let first = index / stride * 8 * width + index % stride * 8
                transform(block, steps, to: samples, at: first, width: width)
            }
            count = width * component.rows * 8
        }
    }

    @inline(__always)
    private static func transform(
        _ block: UnsafeMutableBufferPointer<Int16>, _ steps: [Row], to samples: UnsafeMutableBufferPointer<UInt8>,
        at first: Int, width: Int
    ) {
        withUnsafeTemporaryAllocation(of: Row.self, capacity: 8) { rows in
            for row in 0..<8 {
                var lanes = SIMD8<Int16>()
                for column in 0..<8 { lanes[column] = block[row * 8 + column] }
                rows[row] = Row(truncatingIfNeeded: lanes) &* steps[row]
            }
            pass(rows, shift: 11, plus: 0)
            transpose(rows)
            // The middle of the samples, 128, is 0 among the coefficients.
            pass(rows, shift: 18, plus: 128)
            transpose(rows)
            for row in 0..<8 {
                let lanes = rows[row].clamped(lowerBound: Row(repeating: 0), upperBound: Row(repeating: 255))
                for column in 0..<8 { samples[first + row * width + column] = UInt8(truncatingIfNeeded: lanes[column]) }
            }
        }
    }

    /// Transforms each lane, and rounds.
    @inline(__always)
    private static func pass(_ rows: UnsafeMutableBufferPointer<Row>, shift: Int32, plus offset: Int32) {
        let (even, odd) = ((rows[0], rows[2], rows[4], rows[6]), (rows[1], rows[3], rows[5], rows[7]))
        let (sum, difference) = ((even.0 &+ even.2) &<< 13, (even.0 &- even.2) &<< 13)
        let wide = even.1 &* 10703 &+ even.3 &* 4433
        let narrow = even.1 &* 4433 &- even.3 &* 10704
        let outer = (sum &+ wide, difference &+ narrow, difference &- narrow, sum &- wide)
        let inner = (
            odd.0 &* 11363 &+ odd.1 &* 9633 &+ odd.2 &* 6437 &+ odd.3 &* 2260,
            odd.0 &* 9633 &- odd.1 &* 2259 &- odd.2 &* 11362 &- odd.3 &* 6436,
            odd.0 &* 6437 &- odd.1 &* 11362 &+ odd.2 &* 2261 &+ odd.3 &* 9633,
            odd.0 &* 2260 &- odd.1 &* 6436 &+ odd.2 &* 9633 &- odd.3 &* 11363
        )
        let half = Row(repeating: (1 << (shift - 1)) &+ offset << shift)
        let lanes = Row(repeating: shift)
        (rows[0], rows[7]) = ((outer.0 &+ inner.0 &+ half) &>> lanes, (outer.0 &- inner.0 &+ half) &>> lanes)
        (rows[1], rows[6]) = ((outer.1 &+ inner.1 &+ half) &>> lanes, (outer.1 &- inner.1 &+ half) &>> lanes)
        (rows[2], rows[5]) = ((outer.2 &+ inner.2 &+ half) &>> lanes, (outer.2 &- inner.2 &+ half) &>> lanes)
        (rows[3], rows[4]) = ((outer.3 &+ inner.3 &+ half) &>> lanes, (outer.3 &- inner.3 &+ half) &>> lanes)
    }

    @inline(__always)
    private static func transpose(_ rows: UnsafeMutableBufferPointer<Row>) {
        for row in 0..<8 {
            for column in row + 1..<8 {
                (rows[row][column], rows[column][row]) = (rows[column][row], rows[row][column])
            }
        }
    }
}

extension SIMD8<Int32> {
    @inline(__always)
    fileprivate static func &* (left: Self, right: Int32) -> Self { left &* Self(repeating: right) }
    @inline(__always)
    fileprivate static func &<< (left: Self, right: Int32) -> Self { left &<< Self(repeating: right) }
}
