/// The entries of a table for error feedback; all rows share them.
struct PaletteFeedbackGrid: FeedbackGrid {
    var run: Int? { nil }
    private let entries: [Float]
    private let bounds: [Float]
    private let reach: Int32
    /// A factor of the table's values for each row; empty for 1.
    private let scales: [Float]

    init(_ palette: Palette, reach: Int, scales: [Float]) {
        (entries, bounds, self.reach, self.scales) = (palette.entries, palette.bounds, Int32(reach), scales)
    }

    mutating func begin(
        _ positions: Range<Int>, columns: ArraySlice<Int32>, rows: Range<Int>, targets: UnsafePointer<Float>
    ) {}

    func choose(
        row: Int, run _: Int, position _: Int, targets: Lanes, weights: Lanes
    ) -> (codes: SIMD16<Int32>, values: Lanes) {
        var scale = Lanes(repeating: 1)
        if !scales.isEmpty { for lane in 0..<min(16, scales.count - row) { scale[lane] = scales[row + lane] } }
        let chosen = entries.withUnsafeBufferPointer { entries in
            bounds.withUnsafeBufferPointer {
                $0.nearest(to: targets / scale, within: reach, of: weights / scale, entries)
            }
        }
        return (chosen.codes, scales.isEmpty ? chosen.values : chosen.values * scale)
    }
}
