import AccelByteIO
import AccelTensors
import CAccelKernels

/// The Cholesky factorisation of a symmetric positive definite matrix, in float64 and in a fixed order of operations.
enum Cholesky {
    /// Replaces the lower triangle of `matrix` (row-major, `size` x `size`) with L, where L L^T = matrix. Elements
    /// above the diagonal are neither read nor written.
    /// - Returns: False if a pivot is not positive; the content of the matrix is then undefined.
    static func factorize(_ matrix: UnsafeMutablePointer<Double>, size: Int, threads: Int) -> Bool {
        let width = ck_panel_width_f64()
        let panel = ByteBuffer(count: max(size, 1) * width * MemoryLayout<Double>.stride)
        guard let packed = panel.bytes.assumingMemoryBound(to: Double.self).baseAddress else { return false }
        // Safe: each piece writes its own rows, and reads only finished columns.
        nonisolated(unsafe) let (matrix, panelStart) = (matrix, packed)
        for first in stride(from: 0, to: size, by: width) {
            let wide = min(width, size - first)
            for step in 0..<first {
                for column in 0..<width {
                    packed[step * width + column] = column < wide ? matrix[(first + column) * size + step] : 0
                }
            }
            subtract(rows: first..<first + wide, matrix, size, first, wide, panelStart)
            guard factorizeDiagonal(matrix + first * size + first, stride: size, count: wide) else { return false }
            let rowsAtOnce = 64
            let below = first + wide
            try? Parallel.forEach((size - below + rowsAtOnce - 1) / rowsAtOnce, threads: threads) { piece in
                let start = below + piece * rowsAtOnce
                let rows = start..<min(start + rowsAtOnce, size)
                subtract(rows: rows, matrix, size, first, wide, panelStart)
                for row in rows {
                    solve(matrix + row * size + first, matrix + first * size + first, stride: size, count: wide)
                }
            }
        }
        return true
    }

    /// Computes `matrix[rows, first..<first + wide] -= matrix[rows, 0..<first] x panel`.
    private static func subtract(
        rows: Range<Int>, _ matrix: UnsafeMutablePointer<Double>, _ size: Int, _ first: Int, _ wide: Int,
        _ panel: UnsafePointer<Double>
    ) {
        guard first > 0 else { return }
        let width = ck_panel_width_f64()
        withUnsafeTemporaryAllocation(of: Double.self, capacity: rows.count * width) { products in
            guard let start = products.baseAddress else { return }
            ck_gemm_panel_f64(matrix + rows.lowerBound * size, size, rows.count, first, panel, start, width)
            for (index, row) in rows.enumerated() {
                let line = matrix + row * size + first
                for column in 0..<wide { line[column] -= start[index * width + column] }
            }
        }
    }

    private static func factorizeDiagonal(_ block: UnsafeMutablePointer<Double>, stride: Int, count: Int) -> Bool {
        for row in 0..<count {
            solve(block + row * stride, block, stride: stride, count: row)
            var pivot = block[row * stride + row]
            for step in 0..<row { pivot -= block[row * stride + step] * block[row * stride + step] }
            guard pivot > 0, pivot.isFinite else { return false }
            block[row * stride + row] = pivot.squareRoot()
        }
        return true
    }

    /// Solves x L^T = row for the lower triangle L with `count` rows.
    private static func solve(
        _ row: UnsafeMutablePointer<Double>, _ triangle: UnsafePointer<Double>, stride: Int, count: Int
    ) {
        for column in 0..<count {
            var value = row[column]
            for step in 0..<column { value -= row[step] * triangle[column * stride + step] }
            row[column] = value / triangle[column * stride + column]
        }
    }
}
