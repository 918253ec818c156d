/// Scale and bias of a block as `mx.quantize` of MLX computes them on the CPU: in float32, whatever the type of the
/// weights (mlx/backend/cpu/quantized.cpp). The bias is the end of the range with the larger magnitude, so that code 0
/// stands for it exactly; the scale is negative if that is the largest value. Zero is a value of the grid.
struct MLXGrid: Equatable, Sendable {
    let scale: Float
    let bias: Float
    private let top: Float

    /// Returns nil if the range exceeds float32; MLX then stores an infinite scale.
    init?(_ values: UnsafeBufferPointer<Float>, top: Int) {
        let (low, high) = values.extremes
        let range = high - low
        guard range.isFinite else { return nil }
        let startsLow = abs(low) > abs(high)
        let edge = startsLow ? low : high
        let size = max(range / Float(top), 1e-7)
        let step = startsLow ? size : -size
        let steps = (edge / step).rounded(.toNearestOrEven)
        (scale, bias) = steps == 0 ? (step, 0) : (edge / steps, edge)
        self.top = Float(top)
    }

    /// Returns the nearest code before scale and bias are rounded to the type in which they are stored, with ties to even.
    func code(_ value: Float) -> Float {
        (min(max((value - bias) / scale, 0), top) + 12_582_912) - 12_582_912
    }
}
