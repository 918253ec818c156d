import AccelPlatform

/// The error of an encoded weight against its source. Sums are float64 over float32 differences; kernels add squares in
/// short float32 runs (a relative error of about 1e-7). Parts are merged in index order, so that results are
/// reproducible.
public struct Distortion: Equatable, Sendable {
    /// The number of weights.
    public var count = 0
    /// The sum of (w - q)^2.
    public var squaredError = 0.0
    /// The sum of w^2.
    public var energy = 0.0
    /// The largest |w - q|.
    public var maximumError = 0.0

    /// Creates the error of no weights.
    public init() {}

    /// Adds the error of other weights.
    public mutating func merge(_ other: Distortion) {
        count += other.count
        squaredError += other.squaredError
        energy += other.energy
        maximumError = max(maximumError, other.maximumError)
    }

    /// Returns whether two errors are of the same weights. Sums in another order differ: each of `count` additions of numbers that
    /// are not negative rounds by at most 2^-53 of the sum.
    public func isSame(as other: Distortion) -> Bool {
        func isSum(_ left: Double, _ right: Double) -> Bool {
            left == right || abs(left - right) <= Double(count) * 0x1p-52 * max(left, right)
        }
        return count == other.count && maximumError == other.maximumError && isSum(squaredError, other.squaredError)
            && isSum(energy, other.energy)
    }

    /// The signal-to-quantisation-noise ratio in dB: 10 log10(energy / squaredError); infinity for a lossless encoding.
    public var sqnr: Double { squaredError == 0 ? .infinity : 10 * log10(energy / squaredError) }
    /// The relative L2 error: sqrt(squaredError / energy).
    public var relativeL2: Double { squaredError == 0 ? 0 : (squaredError / energy).squareRoot() }
}
