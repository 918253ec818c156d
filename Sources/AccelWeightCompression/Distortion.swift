import AccelPlatform

/// How far a stored weight is from its source. Sums are float64 over float32 differences, whose squares kernels add up in
/// short runs of float32 (some 1e-7 of the sum); merge parts in index order.
public struct Distortion: Equatable, Sendable {
    public var count = 0
    /// Sum of (w - q)^2.
    public var squaredError = 0.0
    /// Sum of w^2.
    public var energy = 0.0
    public var maximumError = 0.0

    public init() {}

    public mutating func merge(_ other: Distortion) {
        count += other.count
        squaredError += other.squaredError
        energy += other.energy
        maximumError = max(maximumError, other.maximumError)
    }
    /// Signal to quantization noise in dB: 10 log10(energy / squaredError); infinity when nothing is lost.
    public var sqnr: Double { squaredError == 0 ? .infinity : 10 * log10(energy / squaredError) }
    /// sqrt(squaredError / energy).
    public var relativeL2: Double { squaredError == 0 ? 0 : (squaredError / energy).squareRoot() }
}
