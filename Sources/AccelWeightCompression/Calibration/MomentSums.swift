import AccelByteIO
import AccelTensors
import CAccelKernels

/// Sums x x^T over vectors x in an order that depends on the vectors only: float32 within a block, float64 over blocks.
/// The result has the same bits for any number of threads and any instruction set.
public final class MomentSums {
    /// Vectors per block. The matrix product adds short float32 sums over it.
    static let blockRows = 768
    /// The most rows of the sums that are computed at once: their vectors stay in the second cache level.
    private static let mostRows = 192
    private let columns: Int
    private let panelCount: Int
    private let width = ck_panel_width()
    private var filled = 0
    /// The block that is being filled: in panels of columns, and transposed.
    private let panels: ByteBuffer
    private let transposed: TransposedBlock
    /// y - x of the block.
    private let drift: TransposedBlock?
    /// Whether a drift of the block is not 0.
    private var hasDrifted = false
    private var part: MomentPart

    /// Creates empty sums.
    /// - Parameters:
    ///   - hasDrift: `add` and `hold` get the original vector y for each vector x.
    ///   - slices: the number of parts that will be added up (`MomentTree`); all together hold as many vectors out as one would.
    public init(columns: Int, hasDrift: Bool = false, slices: Int = 1) {
        self.columns = columns
        panelCount = (columns + width - 1) / width
        panels = ByteBuffer(count: Self.blockRows * panelCount * width * MemoryLayout<Float>.stride)
        transposed = TransposedBlock(columns: columns)
        drift = hasDrift ? TransposedBlock(columns: columns) : nil
        part = MomentPart(columns: columns, hasDrift: hasDrift, mostHeld: HeldOutCollector.most / max(slices, 1))
    }

    /// Adds one vector of `columns` numbers.
    /// - Parameter original: y, the same vector in the original model; nil if it equals x.
    public func add(_ vector: UnsafePointer<Float>, original: UnsafePointer<Float>? = nil, threads: Int) {
        add([0], of: vector, originals: original, threads: threads)
    }

    /// Adds some rows of a row-major matrix with `columns` columns.
    /// - Parameter originals: the same matrix in the original model; nil if it equals `vectors`.
    public func add(
        _ rows: [Int], of vectors: UnsafePointer<Float>, originals: UnsafePointer<Float>? = nil, threads: Int
    ) {
        var next = 0
        while next < rows.count {
            let end = min(rows.count, next + Self.blockRows - filled)
            fill(rows[next..<end], vectors, originals, threads: threads)
            next = end
            if filled == Self.blockRows { flush(threads: threads) }
        }
    }

    /// Adds a vector to the held-out sample instead of the sums.
    public func hold(_ vector: UnsafePointer<Float>, original: UnsafePointer<Float>? = nil) {
        part.heldOut.add(vector, original: original)
    }

    /// Returns the sums, and begins new ones.
    public func takePart(threads: Int) -> MomentPart {
        flush(threads: threads)
        defer { part = MomentPart(columns: columns, hasDrift: drift != nil, mostHeld: part.heldOut.most) }
        return part
    }

    /// Returns the means over all vectors; nil if there were none, or if one was not finite.
    public func statistics(threads: Int) -> ActivationStatistics? {
        takePart(threads: threads).statistics(threads: threads)
    }

    private func floats(_ buffer: ByteBuffer) -> UnsafeMutablePointer<Float>? {
        buffer.bytes.assumingMemoryBound(to: Float.self).baseAddress
    }

    /// Puts vectors behind those of the block. They have to fit.
    private func fill(
        _ rows: ArraySlice<Int>, _ vectors: UnsafePointer<Float>, _ originals: UnsafePointer<Float>?, threads: Int
    ) {
        guard let block = floats(panels), columns > 0 else { return }
        let (columns, width, first) = (columns, width, filled)
        let (transposed, drifts) = (transposed, originals == nil ? nil : drift)
        // Safe: each piece writes its own rows of the block, and the vectors do not change.
        nonisolated(unsafe) let (vectors, originals, panels) = (vectors, originals, block)
        let pieces = (rows.count + width - 1) / width
        // The body does not throw, so neither does the loop.
        let moved = try? Parallel.map(pieces, threads: threads) { piece in
            let start = rows.startIndex + piece * width
            let own = rows[start..<min(start + width, rows.endIndex)]
            let place = first + piece * width
            return withUnsafeTemporaryAllocation(of: Float.self, capacity: 2 * width * columns) { memory in
                guard let lines = memory.baseAddress else { return false }
                for (line, row) in own.enumerated() {
                    (lines + line * columns).update(from: vectors + row * columns, count: columns)
                    for column in stride(from: 0, to: columns, by: width) {
                        let target = panels + (column * Self.blockRows + (place + line) * width)
                        target.update(from: vectors + (row * columns + column), count: min(width, columns - column))
                    }
                }
                transposed.put(lines, own.count, at: place, columns, by: lines + width * columns)
                guard let drifts else { return false }
                var hasDrifted = false
                if let originals {
                    for (line, row) in own.enumerated() {
                        let (target, original) = (lines + line * columns, originals + row * columns)
                        var largest: Float = 0
                        for column in 0..<columns {
                            let drift = original[column] - target[column]
                            target[column] = drift
                            // NaN for a drift that is not finite.
                            largest += abs(drift)
                        }
                        hasDrifted = hasDrifted || largest != 0
                    }
                }
                drifts.put(lines, own.count, at: place, columns, by: lines + width * columns)
                return hasDrifted
            }
        }
        if originals == nil { drift?.clear(first..<first + rows.count, columns) }
        hasDrifted = hasDrifted || moved?.contains(true) ?? false
        filled += rows.count
        part.count += rows.count
    }

    /// Adds the products of the block's vectors to the sums.
    private func flush(threads: Int) {
        guard filled > 0, let panels = floats(panels), let sums = part.moments.doubles, columns > 0 else { return }
        part.hasDrifted = part.hasDrifted || hasDrifted
        let drifts = hasDrifted ? drift.flatMap { block in part.drift?.doubles.map { (block, $0) } } : nil
        let (columns, width, filled, transposed) = (columns, width, filled, transposed)
        // Fewer where threads would have no work: no sum depends on the number.
        let rowsAtOnce = max(48, min(Self.mostRows, columns / (2 * max(threads, 1)) / 48 * 48))
        let blocks = (columns + rowsAtOnce - 1) / rowsAtOnce
        // Safe: each piece only reads the block, and adds to its own rows.
        nonisolated(unsafe) let (source, target, others) = (panels, sums, drifts)
        // The body does not throw, so neither does the loop. The largest pieces come first.
        try? Parallel.forEach(blocks * (drifts == nil ? 1 : 2), threads: threads) { piece in
            let isTriangle = others == nil || piece >= blocks
            let first = (isTriangle ? blocks - 1 - piece % blocks : piece) * rowsAtOnce
            let height = min(rowsAtOnce, columns - first)
            let (left, sums) = isTriangle ? (transposed, target) : others ?? (transposed, target)
            withUnsafeTemporaryAllocation(of: Float.self, capacity: height * width) { memory in
                guard let products = memory.baseAddress, let line = left.line(first) else { return }
                for column in stride(from: 0, to: isTriangle ? first + height : columns, by: width) {
                    let wide = min(width, columns - column)
                    ck_gemm_panels(
                        line, TransposedBlock.stride, height, filled, source + column * Self.blockRows, nil, products,
                        width, width)
                    for row in 0..<height {
                        let sums = sums + ((first + row) * columns + column)
                        for slot in 0..<wide { sums[slot] += Double(products[row * width + slot]) }
                    }
                }
            }
        }
        self.filled = 0
        hasDrifted = false
    }
}

/// The vectors of a block as columns: a line for each of their elements.
struct TransposedBlock: @unchecked Sendable {
    /// Floats from a line to the next: such that lines do not share their sets of the cache.
    static let stride = MomentSums.blockRows + 16
    // Threads write different columns.
    private let buffer: ByteBuffer

    init(columns: Int) {
        buffer = ByteBuffer(count: columns * Self.stride * MemoryLayout<Float>.stride)
    }

    /// The numbers of one element of all vectors.
    func line(_ element: Int) -> UnsafeMutablePointer<Float>? {
        buffer.bytes.assumingMemoryBound(to: Float.self).baseAddress.map { $0 + element * Self.stride }
    }

    /// Puts `count` vectors, at most a panel, from a position on.
    /// - Parameter scratch: memory for a panel of the vectors.
    func put(
        _ vectors: UnsafePointer<Float>, _ count: Int, at position: Int, _ columns: Int,
        by scratch: UnsafeMutablePointer<Float>
    ) {
        guard let target = line(0) else { return }
        let width = ck_panel_width()
        ck_pack_panel(vectors, columns, count, columns, scratch)
        for column in 0..<columns {
            (target + (column * Self.stride + position)).update(from: scratch + column * width, count: count)
        }
    }

    func clear(_ positions: Range<Int>, _ columns: Int) {
        guard let target = line(0) else { return }
        for column in 0..<columns {
            (target + (column * Self.stride + positions.lowerBound)).update(repeating: 0, count: positions.count)
        }
    }
}
