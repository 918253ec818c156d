import AccelByteIO
import AccelTensors

/// Sums x x^T over some vectors x, in float64. One thread at a time changes them.
public final class MomentPart: @unchecked Sendable {
    let columns: Int
    /// The number of vectors.
    var count = 0
    /// Row-major; only the lower triangle is used.
    private(set) var moments: ByteBuffer
    /// The sums of (y - x) x^T, row-major, where y is the vector in the original model; nil if there is none.
    private(set) var drift: ByteBuffer?
    /// Has the sums while they are not in memory.
    private var file: ScratchFile?
    /// Whether a drift is not 0.
    var hasDrifted = false
    var heldOut: HeldOutCollector

    init(columns: Int, hasDrift: Bool, mostHeld: Int) {
        self.columns = columns
        let bytes = columns * columns * MemoryLayout<Double>.stride
        moments = ByteBuffer(count: bytes)
        drift = hasDrift ? ByteBuffer(count: bytes) : nil
        heldOut = HeldOutCollector(columns: columns, hasDrift: hasDrift, most: mostHeld)
    }

    /// The bytes of the largest sums that wait for others in memory.
    static let mostWaitingBytes = 128 << 20

    private var matrixBytes: Int { columns * columns * MemoryLayout<Double>.stride }

    /// Gives the memory of sums of more bytes back until they are read.
    func leaveMemory(above mostBytes: Int) throws {
        guard matrixBytes * (drift == nil ? 1 : 2) > mostBytes, file == nil else { return }
        let file = try ScratchFile(in: ProcessEnvironment.temporaryFolder)
        try file.append(UnsafeRawBufferPointer(moments.bytes))
        if let drift { try file.append(UnsafeRawBufferPointer(drift.bytes)) }
        moments = ByteBuffer(count: 0)
        if drift != nil { drift = ByteBuffer(count: 0) }
        self.file = file
    }

    /// Brings the sums back into memory.
    func resume() throws {
        guard let file else { return }
        moments = ByteBuffer(count: matrixBytes)
        try file.read(at: 0, into: moments.bytes)
        if drift != nil {
            let matrix = ByteBuffer(count: matrixBytes)
            try file.read(at: matrixBytes, into: matrix.bytes)
            drift = matrix
        }
        self.file = nil
    }

    /// Adds other sums, which may wait in a file. Sums of two numbers do not depend on their order.
    /// - Parameter isLater: their vectors come after these.
    func add(_ other: MomentPart, isLater: Bool, threads: Int) throws {
        try resume()
        let held = isLater ? [heldOut, other.heldOut] : [other.heldOut, heldOut]
        heldOut = held[0]
        heldOut.append(held[1])
        count += other.count
        try add(other.moments, of: other, at: 0, to: moments, threads: threads)
        guard other.hasDrifted, let drift, let otherDrift = other.drift else { return }
        hasDrifted = true
        try add(otherDrift, of: other, at: matrixBytes, to: drift, threads: threads)
    }

    private func add(
        _ matrix: ByteBuffer, of other: MomentPart, at offset: Int, to sums: ByteBuffer, threads: Int
    ) throws {
        guard let start = sums.doubles else { return }
        // Safe: a piece adds to its own rows.
        nonisolated(unsafe) let target = start
        let (columns, rowBytes) = (columns, columns * MemoryLayout<Double>.stride)
        try Parallel.forEach(columns, threads: threads) { row in
            let line = target + row * columns
            func add(_ values: UnsafeRawBufferPointer) {
                let values = values.assumingMemoryBound(to: Double.self)
                for column in 0..<columns { line[column] += values[column] }
            }
            guard let file = other.file else {
                return add(UnsafeRawBufferPointer(rebasing: matrix.bytes[row * rowBytes..<(row + 1) * rowBytes]))
            }
            try withUnsafeTemporaryAllocation(byteCount: rowBytes, alignment: 8) { scratch in
                try file.read(at: offset + row * rowBytes, into: scratch)
                add(UnsafeRawBufferPointer(scratch))
            }
        }
    }

    /// Returns the means over all vectors; nil if there were none, or if one was not finite.
    public func statistics(threads: Int) -> ActivationStatistics? {
        let held = heldOut.result
        guard count > 0, held.vectors.allSatisfy(\.isFinite), held.drifts.allSatisfy(\.isFinite) else { return nil }
        guard let means = means(of: moments, isTriangle: true, threads: threads) else { return nil }
        var drifts: [Float] = []
        if hasDrifted, let drift {
            guard let means = self.means(of: drift, isTriangle: false, threads: threads) else { return nil }
            if means.contains(where: { $0 != 0 }) { drifts = means }
        }
        return ActivationStatistics(columns: columns, count: count, moments: means, drift: drifts, heldOut: held)
    }

    /// Returns the sums divided by the number of vectors, row-major; nil if one is not finite.
    /// - Parameter isTriangle: the sums are symmetric, and only those up to the diagonal are known.
    private func means(of sums: ByteBuffer, isTriangle: Bool, threads: Int) -> [Float]? {
        let (columns, count) = (columns, Double(count))
        guard let sums = sums.doubles, columns > 0 else { return [] }
        var areFinite = true
        let means = [Float](unsafeUninitializedCapacity: columns * columns) { target, filled in
            filled = columns * columns
            guard let start = target.baseAddress else { return }
            // Safe: a piece writes its own rows, and in a triangle its own columns above the diagonal.
            nonisolated(unsafe) let (sums, target) = (sums, start)
            let rowsAtOnce = 32
            // The body does not throw, so neither does the loop.
            let parts = try? Parallel.map((columns + rowsAtOnce - 1) / rowsAtOnce, threads: threads) { piece in
                let rows = piece * rowsAtOnce..<min((piece + 1) * rowsAtOnce, columns)
                var check: Float = 0
                for row in rows {
                    for column in 0..<(isTriangle ? row + 1 : columns) {
                        let mean = Float(sums[row * columns + column] / count)
                        // 0 * x is NaN for an x that is not finite.
                        check += 0 * mean
                        target[row * columns + column] = mean
                    }
                }
                guard isTriangle else { return check == 0 }
                for column in 0..<rows.upperBound {
                    for row in max(rows.lowerBound, column)..<rows.upperBound {
                        target[column * columns + row] = target[row * columns + column]
                    }
                }
                return check == 0
            }
            areFinite = parts?.allSatisfy { $0 } ?? false
        }
        return areFinite ? means : nil
    }
}

extension ByteBuffer {
    var doubles: UnsafeMutablePointer<Double>? { bytes.assumingMemoryBound(to: Double.self).baseAddress }
}

/// Sums of slices, added in a binary tree: the bits of the result depend neither on the order in which the slices come nor on who has
/// added them.
public struct MomentTree {
    private let count: Int
    private let mostWaitingBytes: Int
    private var parts: [Range<Int>: MomentPart] = [:]

    /// - Parameter count: the number of slices, a power of two.
    public init(_ count: Int) { self.init(count, mostWaitingBytes: MomentPart.mostWaitingBytes) }

    init(_ count: Int, mostWaitingBytes: Int) { (self.count, self.mostWaitingBytes) = (count, mostWaitingBytes) }

    /// The sums so far, in the order of slices.
    public var nodes: [(slices: Range<Int>, part: MomentPart)] {
        parts.sorted { $0.key.lowerBound < $1.key.lowerBound }.map { ($0.key, $0.value) }
    }

    /// The sums of all slices; nil if some are missing.
    public var root: MomentPart? { parts[0..<count] }

    /// Returns the slices of the nodes that have a slice, the smallest first.
    public static func nodes(above slices: Range<Int>, of count: Int) -> [Range<Int>] {
        sequence(first: slices) { $0.count < count ? parent(of: $0) : nil }.map(\.self)
    }

    private static func parent(of slices: Range<Int>) -> Range<Int> {
        let first = slices.lowerBound / (2 * slices.count) * 2 * slices.count
        return first..<first + 2 * slices.count
    }

    /// Adds the sums of a node. They must not change any more.
    /// - Throws: An error of the file that has large sums meanwhile.
    public mutating func add(_ part: MomentPart, of slices: Range<Int>, threads: Int) throws {
        let both = Self.parent(of: slices)
        let isFirst = both.lowerBound == slices.lowerBound
        let sibling = isFirst ? slices.upperBound..<both.upperBound : both.lowerBound..<slices.lowerBound
        guard slices.count < count, let other = parts.removeValue(forKey: sibling) else {
            if slices.count < count { try part.leaveMemory(above: mostWaitingBytes) }
            parts[slices] = part
            return
        }
        try part.add(other, isLater: isFirst, threads: threads)
        try add(part, of: both, threads: threads)
    }
}
