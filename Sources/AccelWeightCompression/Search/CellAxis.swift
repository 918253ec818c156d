import CAccelKernels

/// A line from the smallest to the largest of many numbers, in 2^22 steps.
struct CellAxis: Sendable {
    static let bits = Int(CK_CELL_BITS)
    private let low: Float
    private let perStep: Float
    /// What sums are measured from: near most of the numbers, so that outliers cost the others no digits.
    let origin: Double

    /// nil where the line is a point, or too long for float32.
    init?(from low: Float, to high: Float, origin: Double) {
        // The last position stays below 2^22 however the products are rounded.
        perStep = Float(1 << Self.bits - 4) / (high - low)
        guard high > low, (high - low).isFinite, perStep.isFinite, origin.isFinite else { return nil }
        self.low = low
        self.origin = origin
    }

    /// The positions on it, runs of which are cut into cells.
    func cells(outer: Int, inner: Int, first: UnsafeBufferPointer<Int32>) -> ck_cells {
        ck_cells(low: low, per_step: perStep, outer: Int32(outer), inner: Int32(inner), first: first.baseAddress)
    }

    /// How far apart numbers can be at most whose positions are among `count` in a row. (Each is off by half a step because
    /// it is nearest, and by half a step at most because difference and product are rounded.)
    func extent(_ count: Int) -> Double { Double(count + 1) / Double(perStep) }
}
