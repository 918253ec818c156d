/// The entries of a fixed table for error feedback, times a scale for each run of each row.
struct TableFeedbackGrid: FeedbackGrid {
    let run: Int?
    private let entries: [Float]
    private let bounds: [Float]
    private let reach: Int32
    /// The weights of squared errors, by position.
    private let importance: [Float]
    /// Finds and stores the scale of a row's run from its targets.
    private let scale:
        (
            _ row: Int, _ firstPosition: Int, _ targets: UnsafeBufferPointer<Float>, _ weights: UnsafePointer<Float>?
        ) throws -> Float
    private var scales: RunLanes
    /// The first error of `scale`.
    private(set) var failure: (any Error)?

    init(
        run: Int, palette: Palette, reach: Int, importance: [Float],
        scale:
            @escaping (
                _ row: Int, _ firstPosition: Int, _ targets: UnsafeBufferPointer<Float>,
                _ weights: UnsafePointer<Float>?
            ) throws -> Float
    ) {
        (self.run, entries, bounds, self.reach) = (run, palette.entries, palette.bounds, Int32(reach))
        (self.importance, self.scale) = (importance, scale)
        scales = RunLanes(columns: importance.count, run: run, initially: Lanes(repeating: 1))
    }

    mutating func begin(
        _ positions: Range<Int>, columns: ArraySlice<Int32>, rows: Range<Int>, targets: UnsafePointer<Float>
    ) {
        scales.reserve(upTo: rows.upperBound)
        let index = run.map { positions.lowerBound / $0 } ?? 0
        for row in 0..<rows.count {
            let values = UnsafeBufferPointer(start: targets + row * positions.count, count: positions.count)
            let line = rows.lowerBound + row
            do {
                scales[line, index][line % 16] = try importance.withUnsafeBufferPointer {
                    try scale(
                        line, positions.lowerBound, values, $0.baseAddress.map { $0 + positions.lowerBound })
                }
            } catch { failure = failure ?? error }
        }
    }

    func choose(
        row: Int, run: Int, position _: Int, targets: Lanes, weights: Lanes
    ) -> (codes: SIMD16<Int32>, values: Lanes) {
        let scale = scales[row, run]
        return entries.withUnsafeBufferPointer { entries in
            bounds.withUnsafeBufferPointer { bounds in
                let chosen = bounds.nearest(
                    to: targets / scale, within: reach, of: weights / scale, entries)
                return (chosen.codes, chosen.values * scale)
            }
        }
    }
}

extension UnsafeBufferPointer<Float> {
    /// Returns the codes and entries of a table nearest to targets, with codes at most `reach` from those nearest to weights. These are
    /// the bounds between the entries.
    func nearest(
        to targets: Lanes, within reach: Int32, of weights: Lanes, _ entries: UnsafeBufferPointer<Float>
    ) -> (codes: SIMD16<Int32>, values: Lanes) {
        let nearest = codes(weights)
        var codes = codes(targets)
        let (low, high) = (nearest &- reach, nearest &+ reach)
        codes.replace(with: low, where: codes .< low)
        codes.replace(with: high, where: codes .> high)
        var values = Lanes.zero
        for lane in 0..<16 { values[lane] = entries[Int(codes[lane])] }
        return (codes, values)
    }

    /// Returns the number of bounds below each value.
    private func codes(_ values: Lanes) -> SIMD16<Int32> {
        var codes = SIMD16<Int32>.zero
        for bound in self { codes.replace(with: codes &+ 1, where: values .> bound) }
        return codes
    }
}
