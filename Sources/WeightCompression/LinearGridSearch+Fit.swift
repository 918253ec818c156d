import CKernels

/// How the scale of a grid is found.
enum ScaleFit: String, Sendable {
    /// The smallest that reaches every value.
    case absmax
    /// The one of least squared error: it may clip the largest values.
    case mse

    static func option(default value: ScaleFit) -> CodecOption {
        CodecOption(
            "fit", allowed: ["absmax", "mse"], default: value.rawValue,
            help:
                "how scales are found: mse: of least squared error, clipping the largest; absmax: reaching every weight"
        )
    }
}

extension LinearGridSearch {
    /// How much further the largest magnitude lies than the longer side of a grid that is tried. (At 4 bits, 200 ratios
    /// with either sign gain another 0.004 dB.)
    private static let ratios = SIMD16<Float>((0..<16).map { 0.8125 + 0.0375 * Float($0) })

    /// The symmetric grid of least squared error. Sixteen scales clip more or less; each is refitted in closed form to
    /// the codes that it gives, and rounded as it is stored. What is stored is compared, `bounds` with the others, so that
    /// neither of them is better.
    /// - Parameters:
    ///   - weights: of the squared errors, as many as values; nil for 1.
    ///   - bounds: grids that reach all values.
    func refined(
        _ bounds: (LinearGrid, LinearGrid), for values: UnsafeBufferPointer<Float>,
        weights: UnsafePointer<Float>? = nil
    ) -> LinearGrid {
        let (low, high) = extremes(values)
        let reach = (-low > high ? low : high) / Float(codes.lowerBound)
        guard abs(reach) > 1e-30, abs(reach) < 1e30 else { return bounds.0 }
        let tried = SIMD16(repeating: reach) / Self.ratios
        let sums = sums(of: values, weights, scales: tried)
        let refitted = SIMD16<Float>(SIMD16<Double>(tried) * sums.products / sums.squares)
        var candidates = scaleType.rounded(refitted)
        candidates.replace(with: bounds.0.scale, where: candidates .== 0 .| (candidates - candidates) .!= 0)
        // The least and the furthest stretched are hardly ever the best.
        (candidates[0], candidates[15]) = (bounds.0.scale, bounds.1.scale)
        let stored = self.sums(of: values, weights, scales: candidates)
        // Less the values' own squares, which are the same for all.
        let scales = SIMD16<Double>(candidates)
        let errors = scales * scales * (stored.squares - 2 * stored.products)
        var best = bounds.1.scale != bounds.0.scale && errors[15] < errors[0] ? 15 : 0
        // What is better by less than the sums' float32 digits is not known to be better.
        let doubt = 1e-6 * scales[0] * scales[0] * stored.squares[0]
        let bound = errors[best] - doubt
        for lane in 1..<15 where errors[lane] < min(bound, errors[best]) { best = lane }
        return LinearGrid(scale: candidates[best], zero: 0)
    }

    private func sums(
        of values: UnsafeBufferPointer<Float>, _ weights: UnsafePointer<Float>?, scales: SIMD16<Float>
    ) -> (products: SIMD16<Double>, squares: SIMD16<Double>) {
        var inverses = 1 / scales
        var (products, squares) = (SIMD16<Double>(), SIMD16<Double>())
        withUnsafeBytes(of: &inverses) { inverses in
            withUnsafeMutableBytes(of: &products) { products in
                withUnsafeMutableBytes(of: &squares) { squares in
                    ck_try_scales(
                        values.baseAddress, weights, values.count,
                        inverses.assumingMemoryBound(to: Float.self).baseAddress,
                        Float(codes.lowerBound), Float(codes.upperBound),
                        products.assumingMemoryBound(to: Double.self).baseAddress,
                        squares.assumingMemoryBound(to: Double.self).baseAddress)
                }
            }
        }
        return (products, squares)
    }

    /// The grid with a zero point of least squared error among those that reach 70 % to 100 % of the values' range.
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
