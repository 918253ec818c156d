import AccelByteIO
import AccelTensors

extension Shape {
    /// How many groups of `size` rows there are, the last of which may be smaller; nil: all rows are one. (Counted without
    /// making them: a file may claim any shape.)
    func groupCount(_ size: Int?) -> Int {
        let size = max(size ?? rows, 1)
        return rows / size + (rows % size == 0 ? 0 : 1)
    }

    /// Those groups.
    func rowGroups(_ size: Int?) -> [Range<Int>] {
        let size = min(max(size ?? rows, 1), max(rows, 1))
        return stride(from: 0, to: rows, by: size).map { $0..<min($0 + size, rows) }
    }
}

extension StoredTensor {
    /// The elements, in row-major order, of rows `rows` of the tensor seen as a matrix.
    func elements(ofRows rows: Range<Int>) -> Range<Int> {
        rows.lowerBound * shape.columns..<rows.upperBound * shape.columns
    }

    /// Some of the rows, cut into blocks of about `elements` elements.
    func rowBlocks(of elements: Int, in rows: Range<Int>) -> [Range<Int>] {
        let step = max(1, elements / max(shape.columns, 1))
        return stride(from: rows.lowerBound, to: rows.upperBound, by: step).map {
            $0..<min($0 + step, rows.upperBound)
        }
    }

    /// Widens elements `range` to float32 and refuses what is not finite.
    /// - Throws: `FormatError` naming tensor and index.
    func readFinite(_ range: Range<Int>, into target: UnsafeMutableBufferPointer<Float>) throws {
        readFloats(range, into: target)
        // The sum of x - x is 0 for finite values, and NaN as soon as one is not.
        var sums = SIMD16<Float>.zero
        var index = 0
        while index + 16 <= range.count {
            let values = UnsafeRawPointer(target.baseAddress! + index).loadUnaligned(as: SIMD16<Float>.self)
            sums += values - values
            index += 16
        }
        var sum = sums.sum()
        for rest in index..<range.count { sum += target[rest] - target[rest] }
        guard sum == 0 else {
            let bad = target[..<range.count].firstIndex { !$0.isFinite } ?? 0
            throw error("is \(target[bad]), and a weight has to be finite", index: range.lowerBound + bad)
        }
    }

    /// Calls `body` with all elements of the rows widened to float32, finite or not, in blocks that cut rows anywhere.
    func forEachBlock(_ rows: Range<Int>, _ body: (UnsafeBufferPointer<Float>) -> Void) {
        let elements = elements(ofRows: rows)
        let step = 1 << 14
        let blocks = stride(from: elements.lowerBound, to: elements.upperBound, by: step).map {
            $0..<min($0 + step, elements.upperBound)
        }
        let isRead = withFloatsInPlace { floats in
            for block in blocks { body(UnsafeBufferPointer(rebasing: floats[block])) }
        }
        if isRead { return }
        withUnsafeTemporaryAllocation(of: Float.self, capacity: step) { buffer in
            for block in blocks {
                readFloats(block, into: buffer)
                body(UnsafeBufferPointer(rebasing: buffer[..<block.count]))
            }
        }
    }

    /// - Throws: `FormatError` naming tensor and index of the first element of the rows that is not finite.
    func checkFinite(_ rows: Range<Int>) throws { try forEachFiniteRow(rows) { _, _ in } }

    /// Calls `body` with the elements where they are; does nothing and returns false where those are no aligned float32.
    private func withFloatsInPlace(_ body: (UnsafeBufferPointer<Float>) -> Void) -> Bool {
        bytes.withBytes { bytes in
            guard elementType == .float32, let start = bytes.baseAddress,
                Int(bitPattern: start).isMultiple(of: MemoryLayout<Float>.alignment)
            else { return false }
            body(UnsafeBufferPointer(start: start.assumingMemoryBound(to: Float.self), count: shape.count))
            return true
        }
    }

    /// Calls `body` with each of the rows widened to float32, in a buffer that is used again.
    func forEachFiniteRow(
        _ rows: Range<Int>, _ body: (_ row: Int, UnsafeMutableBufferPointer<Float>) throws -> Void
    ) throws {
        try withUnsafeTemporaryAllocation(of: Float.self, capacity: max(shape.columns, 1)) { buffer in
            let row = UnsafeMutableBufferPointer(rebasing: buffer[..<shape.columns])
            for index in rows {
                try readFinite(elements(ofRows: index..<index + 1), into: row)
                try body(index, row)
            }
        }
    }
}

extension Distortion {
    /// Counts values that are stored without loss.
    mutating func addLossless(_ row: UnsafeMutableBufferPointer<Float>) {
        count += row.count
        var sum = 0.0
        for value in row { sum += Double(value) * Double(value) }
        energy += sum
    }

    /// Counts `stored` in place of `row`.
    mutating func add(_ row: UnsafeMutableBufferPointer<Float>, storedAs stored: UnsafeMutableBufferPointer<Float>) {
        count += row.count
        var (squares, errors, largest) = (0.0, 0.0, 0.0)
        for index in row.indices {
            let value = Double(row[index])
            let error = value - Double(stored[index])
            squares += value * value
            errors += error * error
            largest = max(largest, abs(error))
        }
        energy += squares
        squaredError += errors
        maximumError = max(maximumError, largest)
    }
}

extension StoredCodec {
    init() { self.init(CodecOptionValues(defaultsOf: StoredCodec.self)) }
}
