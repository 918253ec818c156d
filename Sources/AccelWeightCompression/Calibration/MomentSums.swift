import AccelByteIO
import AccelTensors
import CAccelKernels

/// Sums x x^T over vectors x in an order that depends on the vectors only: float32 within a block, float64 over blocks.
/// The result has the same bits for any number of threads and any instruction set.
public final class MomentSums {
    /// Vectors per block: the length of one float32 sum.
    static let blockRows = 192
    private let columns: Int
    private let width = ck_panel_width()
    private var count = 0
    private var filled = 0
    /// The block that is being filled, row-major, and its transpose.
    private let block: ByteBuffer
    private let transposed: ByteBuffer
    /// Row-major; only the lower triangle is used.
    private let sums: ByteBuffer
    /// y - x of the block, which is transposed into `transposed` in its turn, and the sums of (y - x) x^T.
    private let drift: (block: ByteBuffer, sums: ByteBuffer)?
    private var heldOut: HeldOutCollector

    /// Creates empty sums.
    /// - Parameter hasDrift: `add` and `hold` get the original vector y for each vector x.
    public init(columns: Int, hasDrift: Bool = false) {
        self.columns = columns
        block = ByteBuffer(count: Self.blockRows * columns * MemoryLayout<Float>.stride)
        transposed = ByteBuffer(count: Self.blockRows * columns * MemoryLayout<Float>.stride)
        sums = ByteBuffer(count: columns * columns * MemoryLayout<Double>.stride)
        drift =
            hasDrift
            ? (
                ByteBuffer(count: Self.blockRows * columns * MemoryLayout<Float>.stride),
                ByteBuffer(count: columns * columns * MemoryLayout<Double>.stride)
            ) : nil
        heldOut = HeldOutCollector(columns: columns, hasDrift: hasDrift)
    }

    /// Adds one vector of `columns` numbers.
    /// - Parameter original: y, the same vector in the original model; nil if it equals x.
    public func add(_ vector: UnsafePointer<Float>, original: UnsafePointer<Float>? = nil, threads: Int) {
        guard let line = floats(block)?.advanced(by: filled * columns) else { return }
        line.update(from: vector, count: columns)
        if let drift, let line = floats(drift.block)?.advanced(by: filled * columns) {
            for column in 0..<columns { line[column] = (original?[column] ?? vector[column]) - vector[column] }
        }
        filled += 1
        count += 1
        if filled == Self.blockRows { flush(threads: threads) }
    }

    /// Adds a vector to the held-out sample instead of the sums.
    public func hold(_ vector: UnsafePointer<Float>, original: UnsafePointer<Float>? = nil) {
        heldOut.add(vector, original: original)
    }

    /// Returns the means over all vectors; nil if there were none, or if one was not finite.
    public func statistics(threads: Int) -> ActivationStatistics? {
        flush(threads: threads)
        let held = heldOut.result
        guard count > 0, (held.vectors + held.drifts).allSatisfy(\.isFinite) else { return nil }
        let sums = sums.bytes.assumingMemoryBound(to: Double.self)
        var moments = [Float](repeating: 0, count: columns * columns)
        for row in 0..<columns {
            for column in 0...row {
                let mean = Float(sums[row * columns + column] / Double(count))
                guard mean.isFinite else { return nil }
                moments[row * columns + column] = mean
                moments[column * columns + row] = mean
            }
        }
        let drifts = drift?.sums.bytes.assumingMemoryBound(to: Double.self)
        let means = drifts.map { $0.map { Float($0 / Double(count)) } } ?? []
        guard means.allSatisfy(\.isFinite) else { return nil }
        return ActivationStatistics(
            columns: columns, count: count, moments: moments, drift: means.contains { $0 != 0 } ? means : [],
            heldOut: held)
    }

    private func floats(_ buffer: ByteBuffer) -> UnsafeMutablePointer<Float>? {
        buffer.bytes.assumingMemoryBound(to: Float.self).baseAddress
    }

    private func flush(threads: Int) {
        guard filled > 0, let rows = floats(block), let flipped = floats(transposed) else { return }
        flip(rows, flipped)
        addProducts(flipped, into: sums, isTriangle: true, threads: threads)
        if let drift, let rows = floats(drift.block), (0..<filled * columns).contains(where: { rows[$0] != 0 }) {
            flip(rows, flipped)
            addProducts(flipped, into: drift.sums, isTriangle: false, threads: threads)
        }
        filled = 0
    }

    private func flip(_ rows: UnsafePointer<Float>, _ flipped: UnsafeMutablePointer<Float>) {
        for row in 0..<filled {
            for column in 0..<columns { flipped[column * filled + row] = rows[row * columns + column] }
        }
    }

    /// Adds the product of `left`, one line per column, and the block.
    private func addProducts(
        _ left: UnsafePointer<Float>, into sums: ByteBuffer, isTriangle: Bool, threads: Int
    ) {
        guard let rows = floats(block), let sums = sums.bytes.assumingMemoryBound(to: Double.self).baseAddress else {
            return
        }
        let (columns, width, filled) = (columns, width, filled)
        // Safe: each piece only reads the block, and adds to its own columns.
        nonisolated(unsafe) let (source, left, target) = (rows, left, sums)
        // The body does not throw, so neither does the loop.
        try? Parallel.forEach((columns + width - 1) / width, threads: threads) { panel in
            let first = panel * width
            let wide = min(width, columns - first)
            let top = isTriangle ? first : 0
            let height = columns - top
            withUnsafeTemporaryAllocation(of: Float.self, capacity: (height + filled) * width) { memory in
                guard let packed = memory.baseAddress else { return }
                let products = packed + filled * width
                ck_pack_panel_transposed(source + first, columns, wide, filled, packed)
                ck_gemm_panels(left + top * filled, filled, height, filled, packed, nil, products, width, wide)
                for row in 0..<height {
                    let line = target + (top + row) * columns + first
                    for column in 0..<wide { line[column] += Double(products[row * width + column]) }
                }
            }
        }
    }
}
