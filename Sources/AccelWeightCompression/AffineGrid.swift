/// Evenly spaced values, `scale * code + bias`, with codes from 0 to `top`.
struct AffineGrid: Equatable, Sendable {
    /// Above 0; as it is stored.
    var scale: Float
    var bias: Float
    let top: Int

    /// In float64, where neither the product nor the sum leaves the range, and rounded once.
    func value(_ code: Float) -> Float { Float(Double(scale) * Double(code) + Double(bias)) }

    /// The nearest code, ties to even.
    func code(_ value: Float) -> Float {
        let quotient = Float((Double(value) - Double(bias)) / Double(scale))
        return (min(max(quotient, 0), Float(top)) + 12_582_912) - 12_582_912
    }

    func squaredError(_ values: UnsafeBufferPointer<Float>) -> Double {
        var sum = 0.0
        for value in values {
            let error = Double(value) - Double(self.value(code(value)))
            sum += error * error
        }
        return sum
    }

    /// Why `code` cannot be the nearest to `value`; nil when it can.
    func violation(of value: Float, code: Int) -> String? {
        let steps = (Double(value) - Double(bias)) / Double(scale) - Double(code)
        if code == 0 && steps < 0 || code == top && steps > 0 { return nil }
        // Not "steps > ...": a scale that is no number is a violation too.
        return abs(steps) <= LinearGrid.halfStep
            ? nil : "is \(abs(steps)) steps from its stored value, more than half a step"
    }
}

/// How scale and bias of a grid are found.
enum AffineFit: String, CaseIterable, Sendable {
    case mse, hqq, minmax
}

/// Finds a scale and a bias for values that share them.
struct AffineGridSearch: Sendable {
    let top: Int
    let type: ScaleType
    let fit: AffineFit

    /// nil when scale or bias is too large for its type.
    func grid(for values: UnsafeBufferPointer<Float>) -> AffineGrid? {
        let (low, high) = values.extremes
        guard let bound = stored(step: (Double(high) - Double(low)) / Double(top), bias: Double(low)) else {
            return nil
        }
        guard low < high else { return bound }
        var best = (grid: bound, error: bound.squaredError(values))
        for grid in fit == .mse ? leastSquares(values, low, high) : fit == .hqq ? [halfQuadratic(values, bound)] : [] {
            guard let grid else { continue }
            let error = grid.squaredError(values)
            if error < best.error { best = (grid, error) }
        }
        return best.grid
    }

    /// Rounded as they are stored.
    private func stored(step: Double, bias: Double) -> AffineGrid? {
        let bias = type.rounded(Float(bias))
        var scale = type.rounded(Float(step))
        if scale <= 0 { scale = type.next(after: 0) }
        guard scale.isFinite, bias.isFinite else { return nil }
        while !AffineGrid(scale: scale, bias: bias, top: top).value(Float(top)).isFinite { scale = scale.nextDown }
        return AffineGrid(scale: scale, bias: bias, top: top)
    }

    /// Four ranges about the middle, each refitted thrice: the line of least squares through the codes and their values.
    private func leastSquares(_ values: UnsafeBufferPointer<Float>, _ low: Float, _ high: Float) -> [AffineGrid?] {
        let count = Double(values.count)
        var mean = 0.0
        for value in values { mean += Double(value) }
        mean /= count
        return [1, 0.93, 0.86, 0.79].map { share in
            let middle = (Double(low) + Double(high)) / 2
            let half = (Double(high) - Double(low)) / 2 * share
            var (step, bias) = (2 * half / Double(top), middle - half)
            for _ in 0..<3 {
                var (codes, squares, products) = (0.0, 0.0, 0.0)
                let inverse = 1 / step
                for value in values {
                    let code = nearest((Double(value) - bias) * inverse)
                    codes += code
                    squares += code * code
                    products += code * (Double(value) - mean)
                }
                let spread = squares - codes * codes / count
                guard spread > 0, products > 0 else { return nil }
                step = products / spread
                bias = mean - step * codes / count
            }
            return stored(step: step, bias: bias)
        }
    }

    /// HQQ (Badri and Shaji, "Half-Quadratic Quantization of Large Machine Learning Models", 2023) in units of a step, with
    /// the norm of p = 1/2: errors are split into those that the norm explains, by its proximal step, and the rest, which
    /// the bias takes up.
    private func halfQuadratic(_ values: UnsafeBufferPointer<Float>, _ bound: AffineGrid) -> AffineGrid? {
        let inverse = 1 / Double(bound.scale)
        var (zero, weight) = (-Double(bound.bias) * inverse, 1.0)
        for _ in 0..<20 {
            var sum = 0.0
            for value in values {
                let x = Double(value) * inverse
                let code = nearest(x + zero)
                let error = x - (code - zero)
                let size = abs(error) - 1 / (weight * (abs(error) + 1e-6).squareRoot())
                sum += code - x + (size > 0 ? (error < 0 ? -size : size) : 0)
            }
            zero = sum / Double(values.count)
            weight *= 1.2
        }
        return stored(step: Double(bound.scale), bias: -zero * Double(bound.scale))
    }

    private func nearest(_ x: Double) -> Double {
        (min(max(x, 0), Double(top)) + 0x1.8p52) - 0x1.8p52
    }
}
