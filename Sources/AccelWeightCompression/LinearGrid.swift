/// Evenly spaced values, `scale * (code - zero)`.
struct LinearGrid: Equatable, Sendable {
    /// Not zero; as it is stored. Negative where the largest magnitude is better served by the longer, negative side.
    var scale: Float
    var zero: Int

    /// Values that the grid reaches are within half a step of it. The quotient that picks a code is rounded to float32,
    /// so close to the middle between two steps the other one may win.
    static let halfStep = 0.5 * (1 + 0x1p-14)

    /// How many steps `value` lies from the value of `code`; below zero on the side of lower codes.
    func steps(from code: Int, to value: Float) -> Double {
        Double(value) / Double(scale) - Double(code - zero)
    }

    /// Picks the nearest codes of `values`, as their lowest byte, and what they stand for.
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

    /// Squared error of `values` on the grid.
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

    /// 1.5 * 2^23: a float32 of less than 2^22 that is added to it loses its fraction, rounded to nearest even, and stands
    /// in the lowest bits as an integer. (`rounded()` is a call for each element on processors without SSE 4.1.)
    fileprivate static let integerRounder: Float = 12_582_912
}

private func nearestInteger(_ x: Float) -> Float { (x + LinearGrid.integerRounder) - LinearGrid.integerRounder }

/// Finds grids for values that share one.
struct LinearGridSearch: Sendable {
    let codes: ClosedRange<Int>
    /// The zero point is 0; else it is free, and the values' range is widened to hold 0.
    let isSymmetric: Bool
    let scaleType: ScaleType
    var fit = ScaleFit.absmax

    /// Symmetric codes of 4 bits, which kernels know.
    var isOfNibbles: Bool { isSymmetric && codes.upperBound == 7 }

    /// The scale is too large for its type.
    struct Overflow: Error {
        var needed: Double
    }

    /// Where the codes reach further below zero than above, both signs of the scale are tried and the one of less squared
    /// error taken. With `fit` absmax no value is more than half a step off.
    /// - Parameter weights: of the squared errors, as many as values; nil for 1.
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

    /// The grid of the smallest stored scale that reaches all values: none is more than half a step off.
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
            // A scale that was rounded down may leave values out of reach, above all a subnormal one.
            let fits =
                isSymmetric
                ? Double(down) <= below && Double(up) <= above : Double(down) + Double(up) <= below + above
            if !fits {
                scale = scaleType.next(after: scale)
            } else if !(scale * max(down, up)).isFinite {
                // The step next to the largest float32 lies beyond it: a slightly larger scale ends one step earlier.
                let (steps, reach) = (max(down, up), down > up ? -low : high)
                scale = scaleType.next(after: scaleType.rounded(Float(Double(reach) / (Double(steps) - 0.5))))
            } else {
                return LinearGrid(scale: scale, zero: isSymmetric ? 0 : codes.lowerBound + Int(down))
            }
        }
        throw Overflow(needed: wanted)
    }

    /// Smallest and largest value, 0 among them.
    func extremes(_ values: UnsafeBufferPointer<Float>) -> (low: Float, high: Float) {
        let (low, high) = values.extremes
        return (min(low, 0), max(high, 0))
    }
}

extension UnsafeBufferPointer<Float> {
    /// Smallest and largest value; infinity and minus infinity when there is none.
    var extremes: (low: Float, high: Float) {
        guard let start = UnsafeRawPointer(baseAddress) else { return (.infinity, -.infinity) }
        var lows = SIMD16<Float>(repeating: .infinity)
        var highs = -lows
        var index = 0
        while index + 16 <= count {
            let block = start.loadUnaligned(fromByteOffset: index * 4, as: SIMD16<Float>.self)
            // (pointwiseMin and pointwiseMax go element by element.)
            lows.replace(with: block, where: block .< lows)
            highs.replace(with: block, where: block .> highs)
            index += 16
        }
        var (low, high) = (lows.min(), highs.max())
        for rest in index..<count {
            low = Swift.min(low, self[rest])
            high = Swift.max(high, self[rest])
        }
        return (low, high)
    }
}
