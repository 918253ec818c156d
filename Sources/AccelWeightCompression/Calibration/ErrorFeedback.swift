import CAccelKernels

/// One column of sixteen rows.
typealias Lanes = SIMD16<Float>

/// The values that quantised weights may take, for some rows at a time.
protocol FeedbackGrid {
    /// The length of the runs of positions that share the result of `begin`; nil if `begin` is called once.
    var run: Int? { get }
    /// Prepares a run. `targets` are the target values of the run's weights after the feedback of earlier errors:
    /// `rows.count` lines of `positions.count` numbers; the columns at the positions are `columns`.
    mutating func begin(
        _ positions: Range<Int>, columns: ArraySlice<Int32>, rows: Range<Int>, targets: UnsafePointer<Float>)
    /// Returns codes and values for the column at a position in sixteen rows starting at `row`: the codes nearest to `targets`, within the
    /// reach of those nearest to `weights`.
    /// - Parameter run: the index of the position's run, for which `begin` was called; 0 without runs.
    func choose(
        row: Int, run: Int, position: Int, targets: Lanes, weights: Lanes
    ) -> (codes: SIMD16<Int32>, values: Lanes)
}

/// The numbers that a grid keeps for each sixteen rows of each run.
struct RunLanes {
    private let runs: Int
    private let initial: Lanes
    private var lanes: [Lanes] = []

    /// - Parameter run: the length of a run; nil for one run of all columns.
    init(columns: Int, run: Int?, parts: Int = 1, initially initial: Lanes) {
        runs = parts * (run.map { (columns + max($0, 1) - 1) / max($0, 1) } ?? 1)
        self.initial = initial
    }

    /// Makes room for rows.
    mutating func reserve(upTo rows: Int) {
        let count = (rows + 15) / 16 * runs - lanes.count
        if count > 0 { lanes.append(contentsOf: repeatElement(initial, count: count)) }
    }

    /// The lanes of the sixteen rows with this one.
    subscript(row: Int, run: Int) -> Lanes {
        get { lanes[row / 16 * runs + run] }
        _modify { yield &lanes[row / 16 * runs + run] }
    }
}

/// Error feedback (GPTQ): codes are chosen column by column, and each target includes the weighted errors of earlier
/// columns. Then each code is chosen again, given all others (coordinate descent, as in QuantEase, Behdin et al., 2023): the first choices
/// cannot know the errors of the columns after them.
struct ErrorFeedback {
    private static let rowsAtOnce = 64
    /// Runs over all codes after the first.
    static let usualPasses = 2
    let factor: FeedbackFactor
    var passes = Self.usualPasses

    /// Chooses the codes of all rows.
    /// - Parameters:
    ///   - weights: `rows` lines of weights.
    ///   - codes: receives the low byte of each code; `stored` receives its value. Both are laid out like the weights.
    func run<Grid: FeedbackGrid>(
        _ weights: UnsafePointer<Float>, rows: Int, grid: inout Grid, codes: UnsafeMutablePointer<UInt8>,
        stored: UnsafeMutablePointer<Float>
    ) {
        let columns = factor.order.count
        guard columns > 0 else { return }
        let lines = (rows + Lanes.scalarCount - 1) / Lanes.scalarCount * Lanes.scalarCount
        // Rows are padded to a multiple of sixteen with zeros.
        let errors = UnsafeMutablePointer<Float>.allocate(capacity: lines * columns)
        errors.initialize(repeating: 0, count: lines * columns)
        let moved = factor.correction.map { _ in
            UnsafeMutablePointer<Float>.allocate(capacity: (Self.rowsAtOnce + rows) * columns)
        }
        defer {
            errors.deallocate()
            moved?.deallocate()
        }
        let pulls = moved.map { $0 + Self.rowsAtOnce * columns }
        for first in stride(from: 0, to: rows, by: Self.rowsAtOnce) {
            let part = first..<min(first + Self.rowsAtOnce, rows)
            let line = weights + first * columns
            if let moved, let pulls {
                factor.correction?.aims(line, rows: part.count, into: moved, pulls: pulls + first * columns)
            }
            runTile(
                line, aims: UnsafePointer(moved) ?? line, part, &grid, errors: errors + first * columns,
                codes: codes + first * columns, stored: stored + first * columns)
        }
        for _ in 0..<passes {
            descend(weights, pulls: pulls, rows: rows, grid, errors: errors, codes: codes, stored: stored)
        }
    }

    /// Chooses each code again: the best one given all others.
    ///
    /// With e = w - q, the error of a row's outputs is e H e^T + 2 e p^T, with the pull p of the drift. Its least value over q[k] alone lies at
    /// q[k] + (e H + p)[k] / H[k, k].
    private func descend<Grid: FeedbackGrid>(
        _ weights: UnsafePointer<Float>, pulls: UnsafePointer<Float>?, rows: Int, _ grid: Grid,
        errors: UnsafeMutablePointer<Float>, codes: UnsafeMutablePointer<UInt8>, stored: UnsafeMutablePointer<Float>
    ) {
        let (columns, width, lanes) = (factor.order.count, FeedbackFactor.width, Lanes.scalarCount)
        let gradients = UnsafeMutablePointer<Float>.allocate(capacity: Self.rowsAtOnce * width)
        let block = UnsafeMutablePointer<Lanes>.allocate(capacity: width)
        defer {
            gradients.deallocate()
            block.deallocate()
        }
        for panel in 0..<(columns + width - 1) / width {
            let start = panel * width
            let count = min(width, columns - start)
            let runs = (start..<start + count).map { position in grid.run.map { position / $0 } ?? 0 }
            factor.withMoments(panel) { moments in
                for first in stride(from: 0, to: rows, by: Self.rowsAtOnce) {
                    let tile = min(Self.rowsAtOnce, rows - first)
                    let height = (tile + lanes - 1) / lanes * lanes
                    ck_gemm_panels(
                        errors + first * columns, columns, height, columns, moments, nil, gradients, width, width)
                    for base in stride(from: 0, to: tile, by: lanes) {
                        let filled = min(lanes, tile - base)
                        for slot in 0..<count {
                            var gradient = Lanes.zero
                            for lane in 0..<filled {
                                let pull = pulls.map { $0[(first + base + lane) * columns + start + slot] } ?? 0
                                gradient[lane] = gradients[(base + lane) * width + slot] + pull
                            }
                            block[slot] = gradient
                        }
                        for slot in 0..<count {
                            let line = moments + (start + slot) * width
                            let column = Int(factor.order[start + slot])
                            var (weight, value) = (Lanes.zero, Lanes.zero)
                            for lane in 0..<filled {
                                weight[lane] = weights[(first + base + lane) * columns + column]
                                value[lane] = stored[(first + base + lane) * columns + column]
                            }
                            let chosen = grid.choose(
                                row: first + base, run: runs[slot], position: start + slot,
                                targets: value + block[slot] / line[slot], weights: weight)
                            let step = chosen.values - value
                            for other in 0..<count { block[other] -= step * line[other] }
                            for lane in 0..<filled {
                                let element = (first + base + lane) * columns
                                errors[element + start + slot] = weight[lane] - chosen.values[lane]
                                codes[element + column] = UInt8(truncatingIfNeeded: chosen.codes[lane])
                                stored[element + column] = chosen.values[lane]
                            }
                        }
                    }
                }
            }
        }
    }

    /// - Parameter aims: the targets before the feedback of errors.
    private func runTile<Grid: FeedbackGrid>(
        _ weights: UnsafePointer<Float>, aims: UnsafePointer<Float>, _ rows: Range<Int>, _ grid: inout Grid,
        errors: UnsafeMutablePointer<Float>, codes: UnsafeMutablePointer<UInt8>, stored: UnsafeMutablePointer<Float>
    ) {
        let columns = factor.order.count
        let width = FeedbackFactor.width
        let lanes = Lanes.scalarCount
        let height = (rows.count + lanes - 1) / lanes * lanes
        let feedback = UnsafeMutablePointer<Float>.allocate(capacity: height * max(grid.run ?? 0, width))
        let block = UnsafeMutablePointer<Lanes>.allocate(capacity: 2 * width)
        defer {
            feedback.deallocate()
            block.deallocate()
        }
        let (targets, originals) = (block, block + width)
        if grid.run == nil { grid.begin(0..<columns, columns: factor.order[...], rows: rows, targets: aims) }

        for panel in 0..<(columns + width - 1) / width {
            let start = panel * width
            let positions = start..<min(start + width, columns)
            if let run = grid.run, run > width, start % run == 0 {
                beginRun(start..<min(start + run, columns), aims, rows, errors, feedback, &grid)
            }
            factor.withPanel(panel) { upper in
                ck_gemm_panels(errors, columns, height, start, upper, nil, feedback, width, width)
            }
            if let run = grid.run, run <= width {
                for begin in stride(from: start, to: positions.upperBound, by: run) {
                    chooseRun(
                        begin..<min(begin + run, columns), of: positions, weights, aims, rows, errors, feedback,
                        targets, originals, &grid, begins: true, codes: codes, stored: stored)
                }
            } else {
                chooseRun(
                    positions, of: positions, weights, aims, rows, errors, feedback, targets, originals, &grid,
                    begins: false, codes: codes, stored: stored)
            }
        }
    }

    /// Prepares a run that is longer than a panel: computes its targets from the errors so far.
    private func beginRun<Grid: FeedbackGrid>(
        _ run: Range<Int>, _ aims: UnsafePointer<Float>, _ rows: Range<Int>, _ errors: UnsafePointer<Float>,
        _ feedback: UnsafeMutablePointer<Float>, _ grid: inout Grid
    ) {
        let (columns, width) = (factor.order.count, FeedbackFactor.width)
        for start in stride(from: run.lowerBound, to: run.upperBound, by: width) {
            let wide = min(width, run.upperBound - start)
            factor.withPanel(start / width) { upper in
                ck_gemm_panels(
                    errors, columns, rows.count, run.lowerBound, upper, nil, feedback + start - run.lowerBound,
                    run.count, wide)
            }
        }
        for row in 0..<rows.count {
            for position in run {
                feedback[row * run.count + position - run.lowerBound] +=
                    aims[row * columns + Int(factor.order[position])]
            }
        }
        grid.begin(run, columns: factor.order[run], rows: rows, targets: feedback)
    }

    /// Chooses the codes of the positions `run`, which lie in the panel `panel`.
    private func chooseRun<Grid: FeedbackGrid>(
        _ run: Range<Int>, of panel: Range<Int>, _ weights: UnsafePointer<Float>, _ aims: UnsafePointer<Float>,
        _ rows: Range<Int>, _ errors: UnsafeMutablePointer<Float>, _ feedback: UnsafeMutablePointer<Float>,
        _ targets: UnsafeMutablePointer<Lanes>, _ originals: UnsafeMutablePointer<Lanes>, _ grid: inout Grid,
        begins: Bool, codes: UnsafeMutablePointer<UInt8>, stored: UnsafeMutablePointer<Float>
    ) {
        let (columns, width, lanes) = (factor.order.count, FeedbackFactor.width, Lanes.scalarCount)
        let start = panel.lowerBound
        let count = run.count
        let runIndex = grid.run.map { run.lowerBound / $0 } ?? 0
        factor.order.withUnsafeBufferPointer { order in
            factor.withPanel(start / width) { upper in
                if begins {
                    withUnsafeTemporaryAllocation(of: Float.self, capacity: rows.count * count) { wanted in
                        guard let line = wanted.baseAddress else { return }
                        for row in 0..<rows.count {
                            for (index, position) in run.enumerated() {
                                line[row * count + index] =
                                    aims[row * columns + Int(order[position])]
                                    + feedback[row * width + position - start]
                            }
                        }
                        grid.begin(run, columns: factor.order[run], rows: rows, targets: line)
                    }
                }
                for first in stride(from: 0, to: rows.count, by: lanes) {
                    let filled = min(lanes, rows.count - first)
                    for (index, position) in run.enumerated() {
                        var (weight, target) = (Lanes.zero, Lanes.zero)
                        let column = Int(order[position])
                        for lane in 0..<filled {
                            weight[lane] = weights[(first + lane) * columns + column]
                            target[lane] =
                                aims[(first + lane) * columns + column]
                                + feedback[(first + lane) * width + position - start]
                        }
                        originals[index] = weight
                        targets[index] = target
                    }
                    for (index, position) in run.enumerated() {
                        let column = Int(order[position])
                        let chosen = grid.choose(
                            row: rows.lowerBound + first, run: runIndex, position: position, targets: targets[index],
                            weights: originals[index])
                        let error = originals[index] - chosen.values
                        let line = upper + position * width - start
                        for later in index + 1..<max(count, index + 1) {
                            targets[later] += error * line[run.lowerBound + later]
                        }
                        for lane in 0..<filled {
                            let base = (first + lane) * columns
                            errors[base + position] = error[lane]
                            codes[base + column] = UInt8(truncatingIfNeeded: chosen.codes[lane])
                            stored[base + column] = chosen.values[lane]
                        }
                    }
                    // Adds the errors of this run to the targets of the panel's later runs.
                    for position in run.upperBound..<max(panel.upperBound, run.upperBound) {
                        for lane in 0..<filled {
                            var sum: Float = 0
                            for before in run {
                                sum +=
                                    errors[(first + lane) * columns + before] * upper[before * width + position - start]
                            }
                            feedback[(first + lane) * width + position - start] += sum
                        }
                    }
                }
            }
        }
    }
}
