import AccelByteIO
import AccelTensors
import CAccelKernels

/// The order in which columns are given codes: those with the largest inputs first, so that the others can still make
/// good for them. Runs of `group` columns stay together, in their order among the columns of a run.
struct FeedbackOrder: Hashable, Sendable {
    let group: Int

    /// The column at each position.
    func columns(_ meanSquares: [Float]) -> [Int32] {
        let count = meanSquares.count
        let step = max(1, min(group, count))
        let groups = stride(from: 0, to: count, by: step).map { $0..<min($0 + step, count) }
        func size(_ columns: Range<Int>) -> Double {
            columns.reduce(0) { $0 + Double(meanSquares[$1]) } / Double(columns.count)
        }
        let sizes = groups.map(size)
        // A last group of fewer columns stays the last: all groups before it are whole.
        let whole = count / step
        let ordered =
            (0..<whole).sorted { (-sizes[$0], $0) < (-sizes[$1], $1) } + Array(groups.indices.dropFirst(whole))
        return ordered.flatMap { group in
            groups[group].sorted { (-meanSquares[$0], $0) < (-meanSquares[$1], $1) }.map { Int32($0) }
        }
    }
}

/// H = U D U^T for the moments H of a weight's inputs, columns in an order: U is upper triangular with a unit diagonal.
///
/// A row's error in the outputs is e H e^T, e = w - q. With E = e U it is the sum of D[k] * E[k]^2, so the best q[k], once
/// those before it are chosen, is the value nearest to w[k] + the sum over i < k of e[i] * U[i][k]: nothing but the
/// feedback of the errors made so far. (GPTQ, Frantar et al. 2022, in the form of QuIP, Chee et al. 2023.)
final class FeedbackFactor: Sendable {
    /// The column at each position.
    let order: [Int32]
    /// D by position.
    let pivots: [Float]
    /// U in panels of columns: panel p holds the rows up to its last column, k-major.
    private let panels: [Float]
    /// Where there is a drift to make good for.
    let correction: DriftCorrection?
    static let width = ck_panel_width()

    /// How much is added to the diagonal, as a share of its mean: samples do not tell all.
    static let damping = 0.25

    init(_ statistics: ActivationStatistics, order: FeedbackOrder, threads: Int) {
        let size = statistics.columns
        let order = order.columns(statistics.meanSquares)
        let matrix = ByteBuffer(count: size * size * MemoryLayout<Double>.stride)
        let values = matrix.bytes.assumingMemoryBound(to: Double.self)
        let mean = statistics.meanSquares.reduce(0) { $0 + Double($1) } / Double(max(size, 1))
        var damping = Self.damping * (mean > 0 ? mean : 1)
        // From the last column to the first, U is the transpose of a Cholesky factor.
        func fill() {
            statistics.moments.withUnsafeBufferPointer { moments in
                for row in 0..<size {
                    let from = Int(order[size - 1 - row]) * size
                    for column in 0...row {
                        values[row * size + column] = Double(moments[from + Int(order[size - 1 - column])])
                    }
                    values[row * size + row] += damping
                }
            }
        }
        fill()
        while let start = values.baseAddress, size > 0, !Cholesky.factorize(start, size: size, threads: threads) {
            // Moments are sums of squares: only their rounding can make a pivot vanish.
            damping *= 10
            fill()
        }
        self.order = order
        pivots = (0..<size).map { position in
            let pivot = values[(size - 1 - position) * (size + 1)]
            return Float(pivot * pivot)
        }
        let width = Self.width
        let count = (size + width - 1) / width
        let panels = [Float](unsafeUninitializedCapacity: Self.start(ofPanel: count)) { target, filled in
            filled = Self.start(ofPanel: count)
            target.initialize(repeating: 0)
            for column in 0..<size {
                let (panel, place) = (column / width, column % width)
                let mirrored = size - 1 - column
                let pivot = values[mirrored * (size + 1)]
                let start = Self.start(ofPanel: panel)
                for row in 0...column {
                    target[start + row * width + place] = Float(values[(size - 1 - row) * size + mirrored] / pivot)
                }
            }
        }
        self.panels = panels
        correction =
            statistics.drift.isEmpty
            ? nil
            : DriftCorrection(statistics.drift, order: order, pivots: pivots) { row, column in
                panels[Self.start(ofPanel: column / width) + row * width + column % width]
            }
    }

    /// Values by position, by column.
    func byColumn(_ values: [Float]) -> [Float] {
        var columns = values
        for (position, column) in order.enumerated() { columns[Int(column)] = values[position] }
        return columns
    }

    private static func start(ofPanel panel: Int) -> Int { width * width * panel * (panel + 1) / 2 }

    /// Calls `body` with a panel: U's columns from `panel * width` on, the rows before them and their own.
    func withPanel(_ panel: Int, _ body: (UnsafePointer<Float>) -> Void) {
        panels.withUnsafeBufferPointer { panels in
            guard let start = panels.baseAddress else { return }
            body(start + Self.start(ofPanel: panel))
        }
    }
}
