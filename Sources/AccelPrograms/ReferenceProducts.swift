import AccelTensors
import CAccelKernels

/// Products of a weight's rows with vectors, in float64 and rounded once. A few rows of the weight are in memory at a
/// time, as many as stay in the second cache level.
struct ReferenceProducts {
    private let x: [Float]
    /// x as float64 in the blocks of `ck_widen_rows`, for products of many vectors; else empty.
    private let wide: [Double]
    private let weight: ReferenceRows
    private let bias: [Float]?
    /// The number of vectors.
    private let count: Int
    private let columns: Int
    /// The rows of the weight that are multiplied, in the order of the results.
    private let rows: [Range<Int>]
    private let rowCount: Int

    /// The number of vectors from which on a matrix product is faster than single dot products.
    private static let manyVectors = 8
    /// The number of a weight's elements that are read at once, for products of few vectors.
    private static let elementsAtOnce = 1 << 16
    /// The number of panels in float32 that are read at once, for products of many vectors.
    private static let panelsAtOnce = 2
    /// The number of multiply-adds below which one thread is faster.
    private static let fewMultiplyAdds = 1 << 18

    /// - Parameters:
    ///   - x: `count` vectors of as many elements as the weight has columns.
    ///   - rows: the indices of the weight's rows to multiply; nil for all.
    init(_ x: [Float], count: Int, _ weight: ReferenceRows, bias: [Float]?, rows chosen: [Int]? = nil) {
        (self.x, self.count, self.weight, self.bias) = (x, count, weight, bias)
        columns = weight.shape.dimensions[1]
        let all = weight.shape.dimensions[0]
        let isMany = chosen == nil && count >= Self.manyVectors && count * all * columns >= Self.fewMultiplyAdds
        let atOnce = isMany ? Self.panelsAtOnce * ck_panel_width() : max(1, Self.elementsAtOnce / max(columns, 1))
        rows =
            chosen.map { $0.map { $0..<$0 + 1 } }
            ?? stride(from: 0, to: all, by: atOnce).map { $0..<min($0 + atOnce, all) }
        rowCount = chosen?.count ?? all
        wide = isMany ? Self.blocks(x, count: count, columns) : []
    }

    /// Returns `result[i * rows.count + r] = sum_c x[i, c] * weight[rows[r], c] + bias[rows[r]]`.
    /// - Throws: `OperatorError` if a matrix product differs from the plain one, which is a fault of this machine.
    func run() throws -> [Float] {
        var result = [Float](repeating: 0, count: count * rowCount)
        let starts = rows.reduce(into: [0]) { $0.append(($0.last ?? 0) + $1.count) }
        let threads = count * rowCount * columns < Self.fewMultiplyAdds ? 1 : Parallel.processorCount
        let most = rows.map(\.count).max() ?? 0
        try result.withUnsafeMutableBufferPointer { target in
            // Safe: each column is written by one thread only.
            nonisolated(unsafe) let target = target
            try Parallel.forEach(rows.count, threads: threads) { index in
                try withUnsafeTemporaryAllocation(of: Float.self, capacity: most * columns + 1) { floats in
                    if columns > 0 { weight.read(rows[index], into: floats) }
                    let floats = UnsafeBufferPointer(floats)
                    if wide.isEmpty {
                        multiply(rows[index], floats, into: target, at: starts[index])
                    } else {
                        try multiplyMany(rows[index], floats, into: target, at: starts[index])
                    }
                }
            }
        }
        return result
    }

    private func multiply(
        _ range: Range<Int>, _ floats: UnsafeBufferPointer<Float>, into target: UnsafeMutableBufferPointer<Float>,
        at column: Int
    ) {
        x.withUnsafeBufferPointer { x in
            for row in 0..<range.count {
                let start = bias.map { Double($0[range.lowerBound + row]) } ?? 0
                for index in 0..<count {
                    let sum = Reference.dot(x, index * columns, floats, row * columns, columns)
                    target[index * rowCount + column + row] = Float(sum + start)
                }
            }
        }
    }

    private static func blocks(_ x: [Float], count: Int, _ columns: Int) -> [Double] {
        [Double](unsafeUninitializedCapacity: count * columns) { blocks, initialized in
            x.withUnsafeBufferPointer { ck_widen_rows($0.baseAddress, count, columns, blocks.baseAddress) }
            initialized = count * columns
        }
    }

    /// Multiplies by the float64 matrix product, whose results are the same on every instruction set. One element of
    /// each panel is computed again by the plain dot product.
    private func multiplyMany(
        _ range: Range<Int>, _ floats: UnsafeBufferPointer<Float>, into target: UnsafeMutableBufferPointer<Float>,
        at column: Int
    ) throws {
        let (width, wideWidth) = (ck_panel_width(), ck_panel_width_f64())
        let panelCount = (range.count + width - 1) / width * (width / wideWidth)
        let productWidth = panelCount * wideWidth
        var products = [Double](repeating: 0, count: count * productWidth)
        withPanels(of: floats, rows: range.count) { panels in
            wide.withUnsafeBufferPointer {
                ck_gemm_blocks_f64($0.baseAddress, count, columns, panels, panelCount, &products)
            }
        }
        for first in stride(from: 0, to: range.count, by: wideWidth) {
            let vector = (range.lowerBound + first) % count
            try check(vector, products[vector * productWidth + first], floats, row: first)
        }
        for index in 0..<count {
            for row in 0..<range.count {
                let start = bias.map { Double($0[range.lowerBound + row]) } ?? 0
                target[index * rowCount + column + row] = Float(products[index * productWidth + row] + start)
            }
        }
    }

    /// Calls `body` with the panels of some rows in float64.
    private func withPanels(
        of floats: UnsafeBufferPointer<Float>, rows: Int, _ body: (UnsafePointer<Double>?) -> Void
    ) {
        let width = ck_panel_width()
        withUnsafeTemporaryAllocation(of: Float.self, capacity: width * columns) { panel in
            withUnsafeTemporaryAllocation(of: Double.self, capacity: (rows + width - 1) / width * width * columns) {
                panels in
                for first in stride(from: 0, to: rows, by: width) {
                    let start = floats.baseAddress.map { $0 + first * columns }
                    ck_pack_panel(start, columns, min(width, rows - first), columns, panel.baseAddress)
                    ck_widen_panel(panel.baseAddress, columns, panels.baseAddress.map { $0 + first * columns })
                }
                body(panels.baseAddress)
            }
        }
    }

    /// Compares the first column of a panel for one vector with the plain dot product. Both may be off by half a unit in
    /// the last place of a float64 for each product and sum.
    private func check(
        _ vector: Int, _ found: Double, _ floats: UnsafeBufferPointer<Float>, row: Int
    ) throws {
        let (plain, sizes) = x.withUnsafeBufferPointer { x in
            func dot(_ a: UnsafeBufferPointer<Float>, _ aStart: Int, _ b: UnsafeBufferPointer<Float>, _ bStart: Int)
                -> Double
            { Reference.dot(a, aStart, b, bStart, columns) }
            let (own, other) = (vector * columns, row * columns)
            return (dot(x, own, floats, other), dot(x, own, x, own) * dot(floats, other, floats, other))
        }
        guard plain.isFinite, !(abs(found - plain) <= 0x1p-52 * Double(columns + 1) * sizes.squareRoot()) else {
            return
        }
        throw OperatorError("the matrix product in float64 gives \(found), and the plain one gives \(plain)")
    }
}
