import CAccelKernels

/// For sixteen scales: sums of w * (x * q) and w * q^2 over values, where x = value / scale, q is the grid value
/// nearest to x, and w is the weight of the value's error.
struct ScaleSums {
    var products = SIMD16<Double>()
    var squares = SIMD16<Double>()

    /// - Parameter kernel: fills products and squares for inverse scales.
    init(
        scales: SIMD16<Float>,
        _ kernel: (
            _ inverses: UnsafePointer<Float>?, _ products: UnsafeMutablePointer<Double>?,
            _ squares: UnsafeMutablePointer<Double>?
        ) -> Void
    ) {
        var inverses = 1 / scales
        withUnsafeBytes(of: &inverses) { inverses in
            withUnsafeMutableBytes(of: &products) { products in
                withUnsafeMutableBytes(of: &squares) { squares in
                    kernel(
                        inverses.assumingMemoryBound(to: Float.self).baseAddress,
                        products.assumingMemoryBound(to: Double.self).baseAddress,
                        squares.assumingMemoryBound(to: Double.self).baseAddress)
                }
            }
        }
    }
}

extension ScaleType {
    /// Returns the stored scale of least squared error. Each candidate is refitted by least squares to the codes that
    /// it gives, and rounded to its storage type. The comparison is among stored scales and includes `bounds`, so the
    /// result is never worse than those.
    /// - Parameters:
    ///   - tried: the candidates; the first and the last are replaced by `bounds` in the comparison.
    ///   - bounds: stored scales that reach all values.
    func refined(
        _ tried: SIMD16<Float>, bounds: (Float, Float), _ sums: (SIMD16<Float>) -> ScaleSums
    ) -> Float {
        let first = sums(tried)
        var candidates = rounded(SIMD16<Float>(SIMD16<Double>(tried) * first.products / first.squares))
        candidates.replace(with: bounds.0, where: candidates .== 0 .| (candidates - candidates) .!= 0)
        (candidates[0], candidates[15]) = bounds
        let stored = sums(candidates)
        // Without the values' own squares, which are the same for all scales.
        let scales = SIMD16<Double>(candidates)
        let errors = scales * scales * (stored.squares - 2 * stored.products)
        var best = bounds.1 != bounds.0 && errors[15] < errors[0] ? 15 : 0
        // Differences below the precision of the float32 sums do not count.
        let doubt = 1e-6 * scales[0] * scales[0] * stored.squares[0]
        let bound = errors[best] - doubt
        for lane in 1..<15 where errors[lane] < min(bound, errors[best]) { best = lane }
        return candidates[best]
    }
}
