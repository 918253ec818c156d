import AccelByteIO
public import AccelTensors
import CAccelKernels

extension Shape {
    /// Returns the number of groups of `size` rows, the last of which may be smaller; one group if `size` is nil.
    /// Constant time: a file may claim any shape.
    func groupCount(_ size: Int?) -> Int {
        let size = max(size ?? rows, 1)
        return rows / size + (rows % size == 0 ? 0 : 1)
    }

    /// Returns the groups of `size` rows, the last of which may be smaller; one group if `size` is nil.
    func rowGroups(_ size: Int?) -> [Range<Int>] {
        let size = min(max(size ?? rows, 1), max(rows, 1))
        return stride(from: 0, to: rows, by: size).map { $0..<min($0 + size, rows) }
    }
}

extension StoredTensor {
    /// Returns the range of elements, in row-major order, of some rows of the tensor as a matrix.
    func elements(ofRows rows: Range<Int>) -> Range<Int> {
        rows.lowerBound * shape.columns..<rows.upperBound * shape.columns
    }

    /// Returns some of the rows divided into blocks of about `elements` elements.
    func rowBlocks(of elements: Int, in rows: Range<Int>) -> [Range<Int>] {
        let step = max(1, elements / max(shape.columns, 1))
        return stride(from: rows.lowerBound, to: rows.upperBound, by: step).map {
            $0..<min($0 + step, rows.upperBound)
        }
    }

    /// Reads elements as float32, and checks that they are finite.
    /// - Throws: `FormatError` naming tensor and index.
    func readFinite(_ range: Range<Int>, into target: UnsafeMutableBufferPointer<Float>) throws {
        readFloats(range, into: target)
        if let bad = UnsafeMutableBufferPointer(rebasing: target[..<range.count]).firstNotFinite {
            throw bytes.failure
                ?? error("is \(target[bad]), but weights have to be finite", index: range.lowerBound + bad)
        }
    }

    /// Returns the error of an encoding without loss.
    /// - Throws: `FormatError` naming the first element that is not finite.
    public func losslessDistortion() throws -> Distortion {
        var distortion = Distortion()
        try forEachFiniteRow(0..<shape.rows) { _, row in distortion.addLossless(row) }
        return distortion
    }

    /// Calls `body` with all elements of the rows as float32, finite or not, in blocks that may end within a row.
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

    /// Checks that the elements of some rows are finite.
    /// - Throws: `FormatError` naming tensor and index of the first one that is not.
    package func checkFinite(_ rows: Range<Int>) throws { try forEachFiniteRow(rows) { _, _ in } }

    /// Calls `body` with the elements in place; does nothing and returns false unless they are aligned float32.
    private func withFloatsInPlace(_ body: (UnsafeBufferPointer<Float>) -> Void) -> Bool {
        // All of them would be computed.
        guard !bytes.isDerived else { return false }
        return bytes.withBytes { bytes in
            guard elementType == .float32, let start = bytes.baseAddress,
                Int(bitPattern: start).isMultiple(of: MemoryLayout<Float>.alignment)
            else { return false }
            body(UnsafeBufferPointer(start: start.assumingMemoryBound(to: Float.self), count: shape.count))
            return true
        }
    }

    /// Calls `body` with each of the rows as float32, in a buffer that is reused.
    /// - Throws: `FormatError` naming tensor and index of an element that is not finite.
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

extension UnsafeMutableBufferPointer<Float> {
    /// The index of the first value that is NaN or infinite.
    var firstNotFinite: Int? {
        ck_all_finite(baseAddress, count) != 0 ? nil : firstIndex { !$0.isFinite }
    }
}

extension CompressedTensor {
    /// Calls `body` with the index of each of some rows, its codes in the first section, and its part of `target`.
    /// - Parameter rowBytes: the bytes of a row's codes.
    func forEachPackedRow(
        _ rows: Range<Int>, rowBytes: Int, into target: UnsafeMutableBufferPointer<Float>,
        _ body: (_ row: Int, _ codes: UnsafePointer<UInt8>, _ target: UnsafeMutablePointer<Float>) -> Void
    ) {
        sections[0].withBytes { codes in
            guard let start = codes.baseAddress?.assumingMemoryBound(to: UInt8.self), let target = target.baseAddress
            else { return }
            // A loop over an enumeration allocates in builds that are not optimised.
            for index in 0..<rows.count {
                let row = rows.lowerBound + index
                body(row, start + row * rowBytes, target + index * shape.columns)
            }
        }
    }
}

extension Distortion {
    /// Adds values that are encoded without loss.
    mutating func addLossless(_ row: UnsafeMutableBufferPointer<Float>) {
        add(row, storedAs: row)
    }

    /// Adds values that decode to `stored`.
    mutating func add(_ row: UnsafeMutableBufferPointer<Float>, storedAs stored: UnsafeMutableBufferPointer<Float>) {
        add(UnsafeBufferPointer(row), storedAs: UnsafeBufferPointer(stored))
    }

    /// Adds values that decode to `stored`.
    package mutating func add(_ row: UnsafeBufferPointer<Float>, storedAs stored: UnsafeBufferPointer<Float>) {
        count += row.count
        withUnsafeTemporaryAllocation(of: Double.self, capacity: 3) { sums in
            sums.initialize(repeating: 0)
            ck_add_distortion(row.baseAddress, stored.baseAddress, row.count, sums.baseAddress)
            squaredError += sums[0]
            energy += sums[1]
            maximumError = max(maximumError, sums[2])
        }
    }
}

extension StoredCodec {
    init() { self.init(CodecOptionValues(defaultsOf: StoredCodec.scheme)) }
}
