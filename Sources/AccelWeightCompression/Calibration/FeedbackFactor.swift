import AccelByteIO
import AccelTensors
import CAccelKernels

/// The order in which columns are quantised: those with the largest inputs first, so that later columns can compensate
/// for their errors. Groups of `group` columns stay together, sorted among themselves.
struct FeedbackOrder: Hashable, Sendable {
    let group: Int

    /// Returns the column at each position.
    func columns(_ meanSquares: [Float]) -> [Int32] {
        let count = meanSquares.count
        let step = max(1, min(group, count))
        let groups = stride(from: 0, to: count, by: step).map { $0..<min($0 + step, count) }
        func size(_ columns: Range<Int>) -> Double {
            columns.reduce(0) { $0 + Double(meanSquares[$1]) } / Double(columns.count)
        }
        let sizes = groups.map(size)
        // A last group that is smaller stays last, so that all groups before it are whole.
        let whole = count / step
        let ordered =
            (0..<whole).sorted { (-sizes[$0], $0) < (-sizes[$1], $1) } + Array(groups.indices.dropFirst(whole))
        return ordered.flatMap { group in
            groups[group].sorted { (-meanSquares[$0], $0) < (-meanSquares[$1], $1) }.map { Int32($0) }
        }
    }
}

/// The factorisation H = U D U^T of the moments H, with columns in a given order: U is upper triangular with a unit
/// diagonal.
///
/// The output error of a row is e H e^T, with e = w - q. With E = e U it is the sum of D[k] * E[k]^2. So the best q[k],
/// given the codes before it, is the value nearest to w[k] + the sum over i < k of e[i] * U[i][k]: feedback of earlier
/// errors suffices. (GPTQ, Frantar et al., 2022, in the form of QuIP, Chee et al., 2023.)
final class FeedbackFactor: Sendable {
    /// The column at each position.
    let order: [Int32]
    /// D, by position.
    let pivots: [Float]
    /// U in panels of columns, k-major: panel p has the rows up to its last column.
    private let panels: [Float]
    /// H with its damping, by positions, in panels of columns of all rows.
    private let moments: [Float]
    /// The correction of targets; nil without a drift.
    let correction: DriftCorrection?
    static let width = ck_panel_width()

    /// Returns the term added to the diagonal, as a share of its mean, against overfitting to the samples: the fewer vectors there are for each
    /// column, the larger. Measured for weights of SmolLM2 with 3 to 28 vectors for each column, by the errors over another text.
    /// - Parameter count: the number of vectors.
    static func damping(columns: Int, count: Int) -> Double {
        min(0.03 + 0.5 * Double(columns) / Double(max(count, 1)), 0.25)
    }

    init(_ statistics: ActivationStatistics, order: FeedbackOrder, threads: Int) {
        let size = statistics.columns
        let order = order.columns(statistics.meanSquares)
        let matrix = ByteBuffer(count: size * size * MemoryLayout<Double>.stride)
        let values = matrix.bytes.assumingMemoryBound(to: Double.self)
        let mean = statistics.meanSquares.reduce(0) { $0 + Double($1) } / Double(max(size, 1))
        var damping = Self.damping(columns: size, count: statistics.count) * (mean > 0 ? mean : 1)
        // With columns in reverse order, U is the transpose of a Cholesky factor.
        func fill() {
            guard let start = values.baseAddress else { return }
            statistics.moments.withUnsafeBufferPointer { moments in
                // Safe: each piece writes its own rows.
                nonisolated(unsafe) let (target, moments) = (start, moments)
                let damping = damping
                let rowsAtOnce = 32
                // The body does not throw, so neither does the loop.
                try? Parallel.forEach((size + rowsAtOnce - 1) / rowsAtOnce, threads: threads) { piece in
                    for row in piece * rowsAtOnce..<min((piece + 1) * rowsAtOnce, size) {
                        let from = Int(order[size - 1 - row]) * size
                        for column in 0...row {
                            target[row * size + column] = Double(moments[from + Int(order[size - 1 - column])])
                        }
                        target[row * size + row] += damping
                    }
                }
            }
        }
        fill()
        while let start = values.baseAddress, size > 0, !Cholesky.factorize(start, size: size, threads: threads) {
            // Moments are positive semidefinite, so only rounding can make a pivot vanish: more damping helps.
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
        let panels = Self.packed(Self.start(ofPanel: count)) { target in
            guard let target = target.baseAddress, let values = values.baseAddress else { return }
            // Safe: each piece writes its own panel.
            nonisolated(unsafe) let (panels, factor) = (target, values)
            try? Parallel.forEach(count, threads: threads) { panel in
                let start = panels + Self.start(ofPanel: panel)
                for row in 0..<min((panel + 1) * width, size) {
                    let line = factor + (size - 1 - row) * size
                    for column in max(row, panel * width)..<min((panel + 1) * width, size) {
                        let mirrored = size - 1 - column
                        let pivot = factor[mirrored * (size + 1)]
                        start[row * width + column - panel * width] = Float(line[mirrored] / pivot)
                    }
                }
            }
        }
        self.panels = panels
        moments = Self.panels(of: statistics.moments, order, damping: Float(damping), threads: threads)
        correction =
            statistics.drift.isEmpty
            ? nil
            : DriftCorrection(statistics.drift, order: order, pivots: pivots, panels: panels, threads: threads)
    }

    private static func panels(of moments: [Float], _ order: [Int32], damping: Float, threads: Int) -> [Float] {
        let (size, width) = (order.count, width)
        let count = (size + width - 1) / width
        return packed(count * width * size) { target in
            guard let start = target.baseAddress else { return }
            moments.withUnsafeBufferPointer { moments in
                // Safe: each piece writes its own panel.
                nonisolated(unsafe) let (start, moments) = (start, moments)
                try? Parallel.forEach(count, threads: threads) { panel in
                    let columns = order[panel * width..<min((panel + 1) * width, size)].map { Int($0) }
                    for row in 0..<size {
                        let (line, from) = (start + (panel * size + row) * width, Int(order[row]) * size)
                        for slot in columns.indices { line[slot] = moments[from + columns[slot]] }
                        if row / width == panel { line[row % width] += damping }
                    }
                }
            }
        }
    }

    /// Returns zeros that `fill` replaces in part.
    static func packed(_ count: Int, _ fill: (UnsafeMutableBufferPointer<Float>) -> Void) -> [Float] {
        [Float](unsafeUninitializedCapacity: count) { target, filled in
            filled = count
            target.initialize(repeating: 0)
            fill(target)
        }
    }

    /// Returns values by column from values by position.
    func byColumn(_ values: [Float]) -> [Float] {
        var columns = values
        for (position, column) in order.enumerated() { columns[Int(column)] = values[position] }
        return columns
    }

    /// The first element of a panel.
    static func start(ofPanel panel: Int) -> Int { width * width * panel * (panel + 1) / 2 }

    /// Calls `body` with a panel: the columns of U starting at `panel * width`, with the rows above and including the
    /// diagonal block.
    func withPanel(_ panel: Int, _ body: (UnsafePointer<Float>) -> Void) {
        panels.withUnsafeBufferPointer { panels in
            guard let start = panels.baseAddress else { return }
            body(start + Self.start(ofPanel: panel))
        }
    }

    /// Calls `body` with a panel of H: the columns starting at `panel * width`, by positions, with all rows.
    func withMoments(_ panel: Int, _ body: (UnsafePointer<Float>) -> Void) {
        moments.withUnsafeBufferPointer { moments in
            guard let start = moments.baseAddress else { return }
            body(start + panel * Self.width * order.count)
        }
    }
}
