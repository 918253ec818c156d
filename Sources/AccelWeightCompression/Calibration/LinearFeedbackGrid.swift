/// Evenly spaced values for error feedback. Each run of positions, or each row, has its own grid.
struct LinearFeedbackGrid: FeedbackGrid {
    let run: Int?
    private let search: LinearGridSearch
    /// The weights of squared errors: by position, or by column if there is only one run.
    private let importance: [Float]
    /// Called with the grid of a row's run.
    private let store: (_ row: Int, _ firstPosition: Int, LinearGrid) -> Void
    /// The grids of the tile's rows.
    private var scales: [Lanes] = []
    private var zeros: [Lanes] = []
    private var firstRow = 0
    private(set) var overflow: (error: LinearGridSearch.Overflow, row: Int)?
    private let (low, high, reach): (Float, Float, Float)

    /// - Parameter fixed: the grid of all rows; nil if each run of each row gets its own.
    init(
        run: Int?, search: LinearGridSearch, importance: [Float], reach: Int, fixed: LinearGrid? = nil,
        store: @escaping (_ row: Int, _ firstPosition: Int, LinearGrid) -> Void
    ) {
        (self.run, self.search, self.importance, self.store) = (run, search, importance, store)
        (low, high, self.reach) = (Float(search.codes.lowerBound), Float(search.codes.upperBound), Float(reach))
        self.fixed = fixed
    }
    private let fixed: LinearGrid?

    mutating func begin(
        _ positions: Range<Int>, columns: ArraySlice<Int32>, rows: Range<Int>, targets: UnsafePointer<Float>
    ) {
        let tiles = (rows.count + 15) / 16
        firstRow = rows.lowerBound
        scales = [Lanes](repeating: Lanes(repeating: 1), count: tiles)
        zeros = [Lanes](repeating: .zero, count: tiles)
        for row in 0..<rows.count {
            let values = UnsafeBufferPointer(start: targets + row * positions.count, count: positions.count)
            let grid: LinearGrid
            do {
                grid =
                    try fixed
                    ?? importance.withUnsafeBufferPointer {
                        try search.grid(for: values, weights: $0.baseAddress.map { $0 + positions.lowerBound })
                    }
            } catch {
                overflow = overflow ?? (error as? LinearGridSearch.Overflow).map { ($0, rows.lowerBound + row) }
                grid = LinearGrid(scale: 1, zero: 0)
            }
            scales[row / 16][row % 16] = grid.scale
            zeros[row / 16][row % 16] = Float(grid.zero)
            store(rows.lowerBound + row, positions.lowerBound, grid)
        }
    }

    func choose(row: Int, targets: Lanes, weights: Lanes) -> (codes: SIMD16<Int32>, values: Lanes) {
        let tile = (row - firstRow) / 16
        let (scale, zero) = (scales[tile], zeros[tile])
        let nearest = rounded(clamped(weights / scale + zero, low, high))
        var code = rounded(clamped(targets / scale + zero, low, high))
        // Feedback of errors beyond float32 is NaN.
        code.replace(with: nearest, where: code .!= code)
        code = clamped(code, nearest - reach, nearest + reach)
        // The reach may go beyond the grid.
        code = clamped(code, Lanes(repeating: low), Lanes(repeating: high))
        // The low bits of the sum are those of the code.
        return (unsafeBitCast(code + Lanes(repeating: Self.rounder), to: SIMD16<Int32>.self), scale * (code - zero))
    }

    /// 1.5 * 2^23: the sum with a float32 below 2^22 is rounded to an integer.
    private static let rounder: Float = 12_582_912

    @inline(__always)
    private func clamped(_ x: Lanes, _ low: Float, _ high: Float) -> Lanes {
        clamped(x, Lanes(repeating: low), Lanes(repeating: high))
    }
    @inline(__always)
    private func clamped(_ x: Lanes, _ low: Lanes, _ high: Lanes) -> Lanes {
        var x = x
        x.replace(with: low, where: x .< low)
        x.replace(with: high, where: x .> high)
        return x
    }
    @inline(__always)
    private func rounded(_ x: Lanes) -> Lanes {
        let rounder = Lanes(repeating: Self.rounder)
        return (x + rounder) - rounder
    }
}
