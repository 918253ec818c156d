import CAccelKernels

/// Evenly spaced values, `scale * (code - zero)`.
struct LinearGrid: Equatable, Sendable {
    /// Nonzero, and rounded to its storage type. Negative if the largest magnitude fits the longer, negative side
    /// better.
    var scale: Float
    var zero: Int

    /// The largest distance in steps of a value within the grid, from the value of its code. It exceeds one half
    /// because the quotient that selects the code is rounded to float32.
    static let halfStep = 0.5 * (1 + 0x1p-14)

    /// Returns the distance of `value` from the value of `code`, in steps; negative towards lower codes.
    func steps(from code: Int, to value: Float) -> Double {
        Double(value) / Double(scale) - Double(code - zero)
    }

    /// Encodes `values` to the nearest codes (their lowest byte), and returns the decoded values in `stored`.
    func encode(
        _ values: UnsafePointer<Float>, _ count: Int, within range: ClosedRange<Int>,
        codes: UnsafeMutablePointer<UInt8>, stored: UnsafeMutablePointer<Float>
    ) {
        let (scale, offset) = (scale, UInt32(truncatingIfNeeded: zero))
        let (low, high) = (Float(range.lowerBound - zero), Float(range.upperBound - zero))
        for index in 0..<count {
            let moved = min(max(values[index] / scale, low), high) + Self.integerRounder
            codes[index] = UInt8(truncatingIfNeeded: moved.bitPattern &+ offset)
            stored[index] = scale * (moved - Self.integerRounder)
        }
    }

    /// Returns the squared error of `values` on the grid.
    func squaredError(_ values: UnsafePointer<Float>, _ count: Int, within range: ClosedRange<Int>) -> Double {
        let (low, high) = (Float(range.lowerBound - zero), Float(range.upperBound - zero))
        var sum = 0.0
        for index in 0..<count {
            let quotient = min(max(values[index] / scale, low), high)
            let error = Double(values[index]) - Double(scale * nearestInteger(quotient))
            sum += error * error
        }
        return sum
    }

    /// 1.5 * 2^23. Adding it to a float32 below 2^22 rounds the number to an integer, ties to even, and leaves the
    /// integer in the lowest bits. (`rounded()` is a function call per element on processors without SSE 4.1.)
    fileprivate static let integerRounder: Float = 12_582_912
}

private func nearestInteger(_ x: Float) -> Float { (x + LinearGrid.integerRounder) - LinearGrid.integerRounder }

/// Finds the grid that values share.
struct LinearGridSearch: Sendable {
    let codes: ClosedRange<Int>
    /// The zero point is 0; if false, it is chosen, and the values' range is extended to include 0.
    let isSymmetric: Bool
    let scaleType: ScaleType
    var fit = ScaleFit.absmax

    /// The codes are symmetric 4-bit ones, for which there are fast kernels.
    var isOfNibbles: Bool { isSymmetric && codes.upperBound == 7 }

    /// The scale exceeds the range of its type.
    struct Overflow: Error {
        var needed: Double
    }

    /// Finds the grid. If the codes reach further below zero than above, both signs of the scale are tried, and the one
    /// with the smaller squared error is taken. With the fit `absmax`, every error is at most half a step.
    /// - Parameter weights: the weights of the squared errors, one per value; nil for 1.
    func grid(
        for values: UnsafeBufferPointer<Float>, weights: UnsafePointer<Float>? = nil
    ) throws(Overflow) -> LinearGrid {
        let (low, high) = extremes(values)
        let grid = try grid(low: low, high: high)
        guard isSymmetric else { return fit == .mse ? shrunk(grid, for: values) : grid }
        var mirrored = grid
        if -codes.lowerBound != codes.upperBound {
            mirrored = try self.grid(low: -high, high: -low)
            if mirrored.scale != grid.scale { mirrored.scale = -mirrored.scale }
        }
        if fit == .mse { return refined((grid, mirrored), for: values, weights: weights) }
        guard mirrored != grid, let start = values.baseAddress else { return grid }
        let (error, other) = (
            grid.squaredError(start, values.count, within: codes),
            mirrored.squaredError(start, values.count, within: codes)
        )
        return other < error ? mirrored : grid
    }

    /// Finds the grid with the smallest stored scale that reaches all values, so that every error is at most half a
    /// step.
    /// - Parameters:
    ///   - low: the smallest value, at most 0.
    ///   - high: the largest value, at least 0.
    func grid(low: Float, high: Float) throws(Overflow) -> LinearGrid {
        guard low < 0 || high > 0 else { return LinearGrid(scale: 1, zero: 0) }
        let (below, above) = (Double(-codes.lowerBound), Double(codes.upperBound))
        let wanted =
            isSymmetric
            ? max(-Double(low) / below, Double(high) / above) : (Double(high) - Double(low)) / (below + above)
        var scale = scaleType.rounded(Float(wanted))
        if scale == 0 { scale = scaleType.next(after: 0) }
        while scale.isFinite {
            let (down, up) = (nearestInteger(-low / scale), nearestInteger(high / scale))
            // A scale that was rounded down, especially a subnormal one, may leave values out of reach.
            let fits =
                isSymmetric
                ? Double(down) <= below && Double(up) <= above : Double(down) + Double(up) <= below + above
            if !fits {
                scale = scaleType.next(after: scale)
            } else if !(scale * max(down, up)).isFinite {
                // The last step exceeds float32: a slightly larger scale ends one step earlier.
                let (steps, reach) = (max(down, up), down > up ? -low : high)
                scale = scaleType.next(after: scaleType.rounded(Float(Double(reach) / (Double(steps) - 0.5))))
            } else {
                return LinearGrid(scale: scale, zero: isSymmetric ? 0 : codes.lowerBound + Int(down))
            }
        }
        throw Overflow(needed: wanted)
    }

    /// Returns the smallest and the largest of the values and 0.
    func extremes(_ values: UnsafeBufferPointer<Float>) -> (low: Float, high: Float) {
        let (low, high) = values.extremes
        return (min(low, 0), max(high, 0))
    }
}

extension UnsafeBufferPointer<Float> {
    /// The smallest and the largest value; infinity and minus infinity if there is none.
    var extremes: (low: Float, high: Float) {
        var (low, high) = (Float.infinity, -Float.infinity)
        ck_value_range(baseAddress, count, &low, &high)
        return (low, high)
    }
}
