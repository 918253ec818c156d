import AccelTensors
import CAccelKernels

/// Shifts the targets of error feedback, so that a weight compensates for the errors of the weights before it.
///
/// With inputs y in the original model and x behind compressed weights, and the drift C = E[(y - x) x^T], the outputs w
/// y are approximated best by the weights w + w C H^-1 (GPTAQ, Li et al., 2025). Samples determine C less accurately
/// than H: only a share of the correction is applied, and H is damped. With H = U D U^T, the targets of error feedback
/// move by w C U^-T D^-1.
final class DriftCorrection: Sendable {
    static let share: Float = 0.5

    private let order: [Int32]
    private let pivots: [Float]
    /// C with its columns in the order of positions, in panels of all rows.
    private let drift: [Float]
    /// U transposed, in panels of rows: for each panel the columns after it, one after the other.
    private let after: [Float]
    /// U in panels of columns, restricted to the diagonal blocks.
    private let within: [Float]
    private static let width = FeedbackFactor.width
    private var columns: Int { order.count }

    /// - Parameter panels: U as in `FeedbackFactor.withPanel`, one panel after the other.
    init(_ drift: [Float], order: [Int32], pivots: [Float], panels factor: [Float], threads: Int) {
        (self.order, self.pivots) = (order, pivots)
        let (columns, width) = (order.count, Self.width)
        let panels = (columns + width - 1) / width
        self.drift = FeedbackFactor.packed(panels * columns * width) { target in
            // Safe: each piece writes its own panel.
            nonisolated(unsafe) let target = target
            // The body does not throw, so neither does the loop.
            try? Parallel.forEach(panels, threads: threads) { panel in
                let own = order[panel * width..<min((panel + 1) * width, columns)].map { Int($0) }
                drift.withUnsafeBufferPointer { drift in
                    for row in 0..<columns {
                        let start = (panel * columns + row) * width
                        for slot in own.indices { target[start + slot] = drift[row * columns + own[slot]] }
                    }
                }
            }
        }
        after = FeedbackFactor.packed(Self.start(ofPanel: panels, columns)) { target in
            nonisolated(unsafe) let target = target
            try? Parallel.forEach(panels, threads: threads) { panel in
                let start = Self.start(ofPanel: panel, columns)
                let end = min((panel + 1) * width, columns)
                factor.withUnsafeBufferPointer { factor in
                    for column in end..<columns {
                        let upper = FeedbackFactor.start(ofPanel: column / width) + column % width
                        for slot in 0..<width {
                            target[start + (column - end) * width + slot] =
                                factor[upper + (panel * width + slot) * width]
                        }
                    }
                }
            }
        }
        within = FeedbackFactor.packed(panels * width * width) { target in
            for row in 0..<columns {
                for column in row + 1..<max(min((row / width + 1) * width, columns), row + 1) {
                    let panel = FeedbackFactor.start(ofPanel: column / width)
                    target[row * width + column % width] = factor[panel + row * width + column % width]
                }
            }
        }
    }

    /// Returns the start of panel p in `after`: each panel q before it takes the columns from (q + 1) * width on.
    private static func start(ofPanel panel: Int, _ columns: Int) -> Int {
        (0..<panel).reduce(0) { $0 + max(0, columns - ($1 + 1) * width) * width }
    }

    /// Computes the targets of error feedback for `rows` lines of weights.
    /// - Parameter pulls: receives the share of w C, by positions: what the drift adds to the gradient of the error of the outputs.
    func aims(
        _ weights: UnsafePointer<Float>, rows: Int, into aims: UnsafeMutablePointer<Float>,
        pulls: UnsafeMutablePointer<Float>
    ) {
        let (columns, width) = (columns, Self.width)
        let moves = UnsafeMutablePointer<Float>.allocate(capacity: rows * (columns + width))
        defer { moves.deallocate() }
        let products = moves + rows * columns
        let panels = (columns + width - 1) / width
        drift.withUnsafeBufferPointer { drift in
            guard let drift = drift.baseAddress else { return }
            for panel in 0..<panels {
                let wide = min(width, columns - panel * width)
                ck_gemm_panels(
                    weights, columns, rows, columns, drift + panel * columns * width, nil, moves + panel * width,
                    columns, wide)
            }
        }
        for index in 0..<rows * columns { pulls[index] = Self.share * moves[index] }
        after.withUnsafeBufferPointer { after in
            for panel in (0..<panels).reversed() {
                let first = panel * width
                let end = min(first + width, columns)
                if end < columns, let after = after.baseAddress {
                    ck_gemm_panels(
                        moves + end, columns, rows, columns - end, after + Self.start(ofPanel: panel, columns), nil,
                        products, width, width)
                    for row in 0..<rows {
                        for slot in 0..<width { moves[row * columns + first + slot] -= products[row * width + slot] }
                    }
                }
                solve(moves, rows: rows, first..<end)
            }
        }
        for row in 0..<rows {
            let line = row * columns
            for position in 0..<columns {
                let move = Self.share * moves[line + position] / pivots[position]
                let element = line + Int(order[position])
                // If the inputs differ too much for float32, the drift is ignored.
                aims[element] = (weights[element] + move).isFinite ? weights[element] + move : weights[element]
            }
        }
    }

    /// Solves x U^T = moves within one panel.
    private func solve(_ moves: UnsafeMutablePointer<Float>, rows: Int, _ panel: Range<Int>) {
        let (columns, width, count) = (columns, Self.width, panel.count)
        withUnsafeTemporaryAllocation(of: Lanes.self, capacity: width) { memory in
            guard let lines = memory.baseAddress else { return }
            within.withUnsafeBufferPointer { within in
                guard let within = within.baseAddress.map({ $0 + panel.lowerBound * width }) else { return }
                // Sixteen rows at once.
                for first in stride(from: 0, to: rows, by: Lanes.scalarCount) {
                    let filled = min(Lanes.scalarCount, rows - first)
                    let corner = moves + (first * columns + panel.lowerBound)
                    for slot in 0..<count {
                        var line = Lanes.zero
                        for lane in 0..<filled { line[lane] = corner[lane * columns + slot] }
                        lines[slot] = line
                    }
                    for slot in (0..<count).reversed() {
                        var value = lines[slot]
                        for later in slot + 1..<max(count, slot + 1) {
                            value -= lines[later] * within[slot * width + later]
                        }
                        lines[slot] = value
                        for lane in 0..<filled { corner[lane * columns + slot] = value[lane] }
                    }
                }
            }
        }
    }
}
