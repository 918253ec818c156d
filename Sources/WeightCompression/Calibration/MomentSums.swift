import ByteIO
import CKernels
import Tensors

/// Sums up x x^T over vectors x, in an order that depends on the vectors alone: blocks of them in float32, blocks in
/// float64. The same bits for any number of threads and any instruction set.
public final class MomentSums {
    /// Vectors in a block: as many as one chain of float32 sums takes.
    private static let blockRows = 192
    private let columns: Int
    private let width = ck_panel_width()
    private var count = 0
    private var filled = 0
    /// The block that fills up, row-major, and transposed.
    private let block: ByteBuffer
    private let transposed: ByteBuffer
    /// The lower triangle counts, row-major.
    private let sums: ByteBuffer

    public init(columns: Int) {
        self.columns = columns
        block = ByteBuffer(count: Self.blockRows * columns * MemoryLayout<Float>.stride)
        transposed = ByteBuffer(count: Self.blockRows * columns * MemoryLayout<Float>.stride)
        sums = ByteBuffer(count: columns * columns * MemoryLayout<Double>.stride)
    }

    /// Adds the `columns` numbers from `vector` on.
    public func add(_ vector: UnsafePointer<Float>, threads: Int) {
        floats(block).update(from: vector, count: columns, at: filled * columns)
        filled += 1
        count += 1
        if filled == Self.blockRows { flush(threads: threads) }
    }

    /// The means over all vectors; nil when there was none, or when one was not finite.
    public func statistics(threads: Int) -> ActivationStatistics? {
        flush(threads: threads)
        guard count > 0 else { return nil }
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
        return ActivationStatistics(columns: columns, count: count, moments: moments)
    }

    private func floats(_ buffer: ByteBuffer) -> UnsafeMutableBufferPointer<Float> {
        buffer.bytes.assumingMemoryBound(to: Float.self)
    }

    private func flush(threads: Int) {
        guard filled > 0, let rows = floats(block).baseAddress, let flipped = floats(transposed).baseAddress,
            let sums = sums.bytes.assumingMemoryBound(to: Double.self).baseAddress
        else { return }
        let (columns, width, filled) = (columns, width, filled)
        for row in 0..<filled {
            for column in 0..<columns { flipped[column * filled + row] = rows[row * columns + column] }
        }
        // Each piece reads the block, and adds to columns of its own.
        nonisolated(unsafe) let (source, left, target) = (rows, flipped, sums)
        // It throws nothing.
        try? Parallel.forEach((columns + width - 1) / width, threads: threads) { panel in
            let first = panel * width
            let wide = min(width, columns - first)
            let height = columns - first
            withUnsafeTemporaryAllocation(of: Float.self, capacity: (height + filled) * width) { memory in
                guard let packed = memory.baseAddress else { return }
                let products = packed + filled * width
                ck_pack_panel_transposed(source + first, columns, wide, filled, packed)
                ck_gemm_panel(left + first * filled, filled, height, filled, packed, nil, products, width, wide)
                for row in 0..<height {
                    let line = target + (first + row) * columns + first
                    for column in 0..<wide { line[column] += Double(products[row * width + column]) }
                }
            }
        }
        self.filled = 0
    }
}

extension UnsafeMutableBufferPointer<Float> {
    fileprivate func update(from source: UnsafePointer<Float>, count: Int, at start: Int) {
        guard let target = baseAddress else { return }
        (target + start).update(from: source, count: count)
    }
}
