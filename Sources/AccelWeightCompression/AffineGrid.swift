import CAccelKernels

/// Evenly spaced values, `scale * code + bias`, with codes from 0 to `top`.
struct AffineGrid: Equatable, Sendable {
    /// Rounded to the type in which it is stored. Positive, except for grids of MLX.
    var scale: Float
    var bias: Float
    let top: Int
    /// The grid that chooses the codes, if they are not the nearest on the stored grid.
    var unrounded: MLXGrid?

    /// Returns the value of a code, computed in float64, where neither product nor sum overflows, and rounded once.
    func value(_ code: Float) -> Float { Float(Double(scale) * Double(code) + Double(bias)) }

    /// Returns the nearest code, with ties to even.
    func code(_ value: Float) -> Float {
        if let unrounded { return unrounded.code(value) }
        let quotient = Float((Double(value) - Double(bias)) / Double(scale))
        return (min(max(quotient, 0), Float(top)) + 12_582_912) - 12_582_912
    }

    /// Writes the codes of values, and the values of the codes.
    func encode(
        _ values: UnsafeBufferPointer<Float>, codes: UnsafeMutableBufferPointer<UInt8>,
        storedAs stored: UnsafeMutableBufferPointer<Float>
    ) {
        let (step, start) = unrounded.map { ($0.scale, $0.bias) } ?? (scale, bias)
        ck_affine_codes(
            values.baseAddress, values.count, Double(step), Double(start), Float(top), unrounded == nil ? 0 : 1,
            codes.baseAddress)
        ck_affine_values(codes.baseAddress, codes.count, Double(scale), Double(bias), stored.baseAddress)
    }

    /// - Parameter weights: the weights of the squared errors, one per value; nil for 1.
    func squaredError(_ values: UnsafeBufferPointer<Float>, weights: UnsafePointer<Float>?) -> Double {
        var sum = 0.0
        for index in values.indices {
            let error = Double(values[index]) - Double(self.value(code(values[index])))
            sum += error * error * Double(weights?[index] ?? 1)
        }
        return sum
    }

    /// Returns why `code` cannot be within `reach` of the code nearest to `value`; nil if it can.
    func violation(of value: Float, code: Int, reach: Int) -> String? {
        let steps = (Double(value) - Double(bias)) / Double(scale) - Double(code)
        // Values outside of the grid count as its end.
        let nearest = min(max(steps + Double(code), 0), Double(top))
        // The comparison is written so that a NaN scale is a violation too.
        return steps.isFinite && abs(nearest - Double(code)) <= Double(reach) + LinearGrid.halfStep
            ? nil
            : "is \(abs(steps)) steps from its stored value, more than \(reach == 0 ? "half a step" : "\(reach) and a half")"
    }
}

/// The search for scale and bias of a grid.
enum AffineFit: String, CaseIterable, Sendable {
    case mse, hqq, minmax, mlx
}

/// Finds the scale and the bias that values share.
struct AffineGridSearch: Sendable {
    let top: Int
    let type: ScaleType
    let fit: AffineFit

    /// Finds the grid.
    /// - Parameter weights: the weights of the squared errors, one per value; nil for 1.
    /// - Returns: nil if scale or bias exceeds the range of its type.
    func grid(for values: UnsafeBufferPointer<Float>, weights: UnsafePointer<Float>? = nil) -> AffineGrid? {
        if fit == .mlx, let grid = mlxGrid(for: values) { return grid }
        let (low, high) = values.extremes
        guard let bound = stored(step: (Double(high) - Double(low)) / Double(top), bias: Double(low)) else {
            return nil
        }
        guard low < high else { return bound }
        var best = (grid: bound, error: bound.squaredError(values, weights: weights))
        let candidates =
            switch fit {
            case .mse: leastSquares(values, weights, low, high) + [nearestOnMLXGrid(values)]
            case .hqq: robust(values, low, high)
            case .minmax, .mlx: [AffineGrid?]()
            }
        for grid in candidates {
            guard let grid else { continue }
            let error = grid.squaredError(values, weights: weights)
            if error < best.error { best = (grid, error) }
        }
        return best.grid
    }

    /// Returns the grid of MLX; nil if it, or a value of it, is beyond the range of its type.
    private func mlxGrid(for values: UnsafeBufferPointer<Float>) -> AffineGrid? {
        guard let unrounded = MLXGrid(values, top: top) else { return nil }
        let grid = AffineGrid(
            scale: type.rounded(unrounded.scale), bias: type.rounded(unrounded.bias), top: top, unrounded: unrounded)
        return grid.scale.isFinite && grid.bias.isFinite && grid.value(Float(top)).isFinite ? grid : nil
    }

    /// Returns the stored grid of MLX, with the nearest codes: where scales and biases are rounded by as much as a step, a grid that keeps
    /// zero and the largest magnitude can be the best.
    private func nearestOnMLXGrid(_ values: UnsafeBufferPointer<Float>) -> AffineGrid? {
        guard var grid = mlxGrid(for: values), grid.scale != 0 else { return nil }
        grid.unrounded = nil
        return grid
    }

    /// Rounds scale and bias to their storage type, and lowers the scale until the largest value is finite.
    private func stored(step: Double, bias: Double) -> AffineGrid? {
        let bias = type.rounded(Float(bias))
        var scale = type.rounded(Float(step))
        if scale <= 0 { scale = type.next(after: 0) }
        guard scale.isFinite, bias.isFinite else { return nil }
        while !AffineGrid(scale: scale, bias: bias, top: top).value(Float(top)).isFinite {
            scale = type.previous(before: scale)
        }
        return AffineGrid(scale: scale, bias: bias, top: top)
    }

    /// Tries four ranges around the middle. Each is refitted three times by linear regression of the values on their
    /// codes.
    private func leastSquares(
        _ values: UnsafeBufferPointer<Float>, _ weights: UnsafePointer<Float>?, _ low: Float, _ high: Float
    ) -> [AffineGrid?] {
        func weight(_ index: Int) -> Double { Double(weights?[index] ?? 1) }
        var (count, mean) = (0.0, 0.0)
        for index in values.indices {
            count += weight(index)
            mean += weight(index) * Double(values[index])
        }
        mean /= count
        return [1, 0.93, 0.86, 0.79].map { share in
            let middle = (Double(low) + Double(high)) / 2
            let half = (Double(high) - Double(low)) / 2 * share
            var (step, bias) = (2 * half / Double(top), middle - half)
            for _ in 0..<3 {
                var (codes, squares, products) = (0.0, 0.0, 0.0)
                let inverse = 1 / step
                for index in values.indices {
                    let code = nearest((Double(values[index]) - bias) * inverse)
                    let weighted = weight(index) * code
                    codes += weighted
                    squares += weighted * code
                    products += weighted * (Double(values[index]) - mean)
                }
                let spread = squares - codes * codes / count
                guard spread > 0, products > 0 else { return nil }
                step = products / spread
                bias = mean - step * codes / count
            }
            return stored(step: step, bias: bias)
        }
    }

    /// HQQ finds the bias only, for the step that reaches every value. With up to 2 bits that step is far too wide (1 bit of normal
    /// values: 3 times), so that narrower ranges around the middle are tried, too.
    private func robust(_ values: UnsafeBufferPointer<Float>, _ low: Float, _ high: Float) -> [AffineGrid?] {
        let (middle, half) = ((Double(low) + Double(high)) / 2, (Double(high) - Double(low)) / 2)
        let shares = top > 3 ? [1] : [1, 0.8, 0.63, 0.5, 0.4, 0.32, 0.25]
        return shares.map { halfQuadratic(values, step: 2 * half * $0 / Double(top), bias: middle - half * $0) }
    }

    /// HQQ (Badri and Shaji, "Half-Quadratic Quantization of Large Machine Learning Models", 2023), in units of one
    /// step, with the norm p = 1/2: the proximal step of the norm separates outlier errors, and the bias absorbs the
    /// mean of the rest.
    private func halfQuadratic(_ values: UnsafeBufferPointer<Float>, step: Double, bias: Double) -> AffineGrid? {
        guard let start = stored(step: step, bias: bias) else { return nil }
        let inverse = 1 / Double(start.scale)
        var (zero, weight) = (-Double(start.bias) * inverse, 1.0)
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
        return stored(step: Double(start.scale), bias: -zero * Double(start.scale))
    }

    private func nearest(_ x: Double) -> Double {
        (min(max(x, 0), Double(top)) + 0x1.8p52) - 0x1.8p52
    }
}
