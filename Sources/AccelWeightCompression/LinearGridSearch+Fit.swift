import CAccelKernels

/// The search for the scale of a grid.
enum ScaleFit: String, Sendable {
    /// The smallest scale that reaches every value.
    case absmax
    /// The scale of least squared error, which may clip the largest values.
    case mse

    static func option(default value: ScaleFit) -> CodecOption {
        CodecOption(
            "fit", allowed: ["absmax", "mse"], default: value.rawValue,
            help:
                "search for scales: mse: least squared error, may clip the largest; absmax: reaches every weight"
        )
    }
}

extension LinearGridSearch {
    /// Candidate scales, as ratios of the largest magnitude to the longer side of the grid. (At 4 bits, 200 ratios with
    /// either sign gain another 0.004 dB.)
    private static let ratios = SIMD16<Float>((0..<16).map { 0.8125 + 0.0375 * Float($0) })

    /// Returns the symmetric grid of least squared error among sixteen scales that clip more or less.
    /// - Parameters:
    ///   - weights: the weights of the squared errors, one per value; nil for 1.
    ///   - bounds: grids that reach all values.
    func refined(
        _ bounds: (LinearGrid, LinearGrid), for values: UnsafeBufferPointer<Float>,
        weights: UnsafePointer<Float>? = nil
    ) -> LinearGrid {
        let (low, high) = extremes(values)
        let reach = (-low > high ? low : high) / Float(codes.lowerBound)
        guard abs(reach) > 1e-30, abs(reach) < 1e30 else { return bounds.0 }
        if weights == nil, isOfNibbles, let start = values.baseAddress {
            let scale = ck_refined_scale(
                start, values.count, -low > high ? -low : -high, Int32(-codes.lowerBound),
                scaleType == .float16 ? 1 : 0, bounds.0.scale, bounds.1.scale)
            return LinearGrid(scale: scale, zero: 0)
        }
        let scale = scaleType.refined(reach / Self.ratios, bounds: (bounds.0.scale, bounds.1.scale)) { scales in
            ScaleSums(scales: scales) { inverses, products, squares in
                ck_try_scales(
                    values.baseAddress, weights, values.count, inverses, Float(codes.lowerBound),
                    Float(codes.upperBound), products, squares)
            }
        }
        return LinearGrid(scale: scale, zero: 0)
    }

    /// Returns the grid of least squared error among those that cover 70 % to 100 % of the values' range, with a zero
    /// point.
    func shrunk(_ bound: LinearGrid, for values: UnsafeBufferPointer<Float>) -> LinearGrid {
        guard let start = values.baseAddress else { return bound }
        let (low, high) = extremes(values)
        var best = (grid: bound, error: bound.squaredError(start, values.count, within: codes))
        for step in 1...15 {
            let share = 1 - 0.02 * Float(step)
            guard let grid = try? grid(low: low * share, high: high * share) else { continue }
            let error = grid.squaredError(start, values.count, within: codes)
            if error < best.error { best = (grid, error) }
        }
        return best.grid
    }
}
