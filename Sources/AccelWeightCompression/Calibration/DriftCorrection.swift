import CAccelKernels

/// Moves the weights that error feedback aims at, so that a weight makes good for what those before it have lost.
///
/// With inputs x, y in the model as it was, and the drift C = E[(y - x) x^T], the outputs w y come nearest for weights
/// w + w C H^-1 (GPTAQ, Li et al. 2025). Samples tell C less well than H: only a share of the way is taken, and H is
/// damped. In terms of H = U D U^T the targets of error feedback move by w C U^-T D^-1.
final class DriftCorrection: Sendable {
    static let share: Float = 0.5

    private let order: [Int32]
    private let pivots: [Float]
    /// C, columns by position, in panels of all rows.
    private let drift: [Float]
    /// U in panels of rows, transposed: the columns after those of the panel, one after the other.
    private let after: [Float]
    /// U in panels of columns, those within a panel only.
    private let within: [Float]
    private static let width = FeedbackFactor.width
    private var columns: Int { order.count }

    /// - Parameter upper: U by row and column.
    init(_ drift: [Float], order: [Int32], pivots: [Float], upper: (Int, Int) -> Float) {
        (self.order, self.pivots) = (order, pivots)
        let (columns, width) = (order.count, Self.width)
        let panels = (columns + width - 1) / width
        self.drift = Self.packed(panels * columns * width) { target in
            for panel in 0..<panels {
                for row in 0..<columns {
                    for place in 0..<min(width, columns - panel * width) {
                        target[(panel * columns + row) * width + place] =
                            drift[row * columns + Int(order[panel * width + place])]
                    }
                }
            }
        }
        after = Self.packed(Self.start(ofPanel: panels, columns)) { target in
            for panel in 0..<panels {
                let start = Self.start(ofPanel: panel, columns)
                for column in min((panel + 1) * width, columns)..<columns {
                    for place in 0..<width {
                        target[start + (column - (panel + 1) * width) * width + place] = upper(
                            panel * width + place, column)
                    }
                }
            }
        }
        within = Self.packed(panels * width * width) { target in
            for row in 0..<columns {
                for column in row + 1..<max(min((row / width + 1) * width, columns), row + 1) {
                    target[row * width + column % width] = upper(row, column)
                }
            }
        }
    }

    private static func packed(_ count: Int, _ fill: (UnsafeMutableBufferPointer<Float>) -> Void) -> [Float] {
        [Float](unsafeUninitializedCapacity: count) { target, filled in
            filled = count
            target.initialize(repeating: 0)
            fill(target)
        }
    }

    /// Where panel p's part of `after` starts: panel q before it has the columns from (q + 1) * width on.
    private static func start(ofPanel panel: Int, _ columns: Int) -> Int {
        (0..<panel).reduce(0) { $0 + max(0, columns - ($1 + 1) * width) * width }
    }

    /// What error feedback aims at for `rows` lines of weights.
    func aims(_ weights: UnsafePointer<Float>, rows: Int, into aims: UnsafeMutablePointer<Float>) {
        let (columns, width) = (columns, Self.width)
        let moves = UnsafeMutablePointer<Float>.allocate(capacity: rows * (columns + width))
        defer { moves.deallocate() }
        let products = moves + rows * columns
        let panels = (columns + width - 1) / width
        drift.withUnsafeBufferPointer { drift in
            guard let drift = drift.baseAddress else { return }
            for panel in 0..<panels {
                let wide = min(width, columns - panel * width)
                ck_gemm_panel(
                    weights, columns, rows, columns, drift + panel * columns * width, nil, moves + panel * width,
                    columns, wide)
            }
        }
        after.withUnsafeBufferPointer { after in
            for panel in (0..<panels).reversed() {
                let first = panel * width
                let end = min(first + width, columns)
                if end < columns, let after = after.baseAddress {
                    ck_gemm_panel(
                        moves + end, columns, rows, columns - end, after + Self.start(ofPanel: panel, columns), nil,
                        products, width, width)
                    for row in 0..<rows {
                        for place in 0..<width { moves[row * columns + first + place] -= products[row * width + place] }
                    }
                }
                solve(moves, rows: rows, first..<end)
            }
        }
        for row in 0..<rows {
            let line = row * columns
            for position in 0..<columns {
                let move = Self.share * moves[line + position] / pivots[position]
                let place = line + Int(order[position])
                // Inputs too far apart for float32 say nothing.
                aims[place] = (weights[place] + move).isFinite ? weights[place] + move : weights[place]
            }
        }
    }

    /// Solves x U^T = moves within a panel.
    private func solve(_ moves: UnsafeMutablePointer<Float>, rows: Int, _ panel: Range<Int>) {
        let width = Self.width
        within.withUnsafeBufferPointer { within in
            for row in 0..<rows {
                let line = moves + row * columns
                for position in panel.reversed() {
                    var value = line[position]
                    for later in position + 1..<max(panel.upperBound, position + 1) {
                        value -= line[later] * within[position * width + later % width]
                    }
                    line[position] = value
                }
            }
        }
    }
}
