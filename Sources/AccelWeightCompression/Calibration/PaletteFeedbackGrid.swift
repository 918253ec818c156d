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

    func choose(row: Int, targets: Lanes, weights: Lanes) -> (codes: SIMD16<Int32>, values: Lanes) {
        var scale = Lanes(repeating: 1)
        if !scales.isEmpty { for lane in 0..<min(16, scales.count - row) { scale[lane] = scales[row + lane] } }
        let nearest = codes(weights / scale)
        var codes = codes(targets / scale)
        let (low, high) = (nearest &- reach, nearest &+ reach)
        codes.replace(with: low, where: codes .< low)
        codes.replace(with: high, where: codes .> high)
        var values = Lanes.zero
        entries.withUnsafeBufferPointer { entries in
            for lane in 0..<16 { values[lane] = entries[Int(codes[lane])] }
        }
        return (codes, scales.isEmpty ? values : values * scale)
    }

    /// Returns the number of bounds below each value.
    private func codes(_ values: Lanes) -> SIMD16<Int32> {
        var codes = SIMD16<Int32>.zero
        bounds.withUnsafeBufferPointer { bounds in
            for bound in bounds { codes.replace(with: codes &+ 1, where: values .> bound) }
        }
        return codes
    }
}
