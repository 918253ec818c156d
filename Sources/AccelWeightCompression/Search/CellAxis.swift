import CAccelKernels

/// A linear axis from the smallest to the largest of many numbers, divided into 2^22 positions.
struct CellAxis: Sendable {
    static let bits = Int(CK_CELL_BITS)
    private let low: Float
    private let perStep: Float
    /// The reference point of sums: near most of the numbers, so that outliers do not cost the others precision.
    let origin: Double

    /// Returns nil if the range is empty, or too large for float32.
    init?(from low: Float, to high: Float, origin: Double) {
        // The scale keeps the last position below 2^22 under any rounding of the products.
        perStep = Float(1 << Self.bits - 4) / (high - low)
        guard high > low, (high - low).isFinite, perStep.isFinite, origin.isFinite else { return nil }
        self.low = low
        self.origin = origin
    }

    /// Returns the cells of this axis, in the form that kernels read.
    func cells(outer: Int, inner: Int, first: UnsafeBufferPointer<Int32>) -> ck_cells {
        ck_cells(low: low, per_step: perStep, outer: Int32(outer), inner: Int32(inner), first: first.baseAddress)
    }

    /// Returns the largest difference between numbers whose positions are among `count` consecutive ones. (A number may
    /// be half a position off because it is assigned to the nearest one, and another half because difference and
    /// product are rounded.)
    func width(_ count: Int) -> Double { Double(count + 1) / Double(perStep) }
}
