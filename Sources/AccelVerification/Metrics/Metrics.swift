import AccelPlatform
import CAccelKernels

/// The difference of a tensor x from its reference r, gathered in one pass with float64 sums over float32 values.
///
/// Elements where both sides hold the same infinity, or both a NaN, agree and are in none of the sums. An element where
/// only one side is finite, or both differ in kind, is counted in `nonFiniteMismatches`: one of them fails every gate.
public struct Metrics: Equatable, Sendable {
    /// The number of compared elements, those that are not finite included.
    public private(set) var count = 0
    /// Sum of (x - r)^2.
    public private(set) var squaredError = 0.0
    /// Sum of r^2.
    public private(set) var referenceEnergy = 0.0
    /// Sum of x^2.
    public private(set) var energy = 0.0
    /// Sum of x * r.
    public private(set) var product = 0.0
    /// The largest |x - r| of the finite elements.
    public private(set) var maximumError = 0.0
    /// Largest |r|.
    public private(set) var peak = 0.0
    /// The number of elements whose value x is NaN.
    public private(set) var nans = 0
    /// The number of elements whose value x is infinite.
    public private(set) var infinities = 0
    /// The number of elements that are NaN or infinite on one side only, or of different kinds.
    public private(set) var nonFiniteMismatches = 0
    /// Elements whose sign differs from the reference's (zero has none).
    public private(set) var signFlips = 0
    /// The distribution of |x - r|; empty after `summarized`.
    public private(set) var distribution = ErrorDistribution()
    private var summarizedPercentile: Double?
    /// The number of rows whose largest elements were compared (logits).
    public private(set) var argmaxRows = 0
    /// The rows among `argmaxRows` whose largest element is at the same index on both sides.
    public private(set) var argmaxAgreements = 0

    /// Creates metrics of no elements.
    public init() {}

    /// Compares two tensors of the same number of elements.
    /// - Parameter rowLength: the size of the last axis if the index of each row's largest element is to be compared
    ///   (logits).
    public init(_ values: [Float], against reference: [Float], rowLength: Int? = nil) {
        self.init()
        values.withUnsafeBufferPointer { x in
            reference.withUnsafeBufferPointer { r in
                record(x, against: r)
                if let rowLength, rowLength > 0 { recordArgmax(x, against: r, rowLength: rowLength) }
            }
        }
    }

    /// Adds a part of the tensor: the elements up to the end of the shorter buffer.
    public mutating func record(_ values: UnsafeBufferPointer<Float>, against reference: UnsafeBufferPointer<Float>) {
        let number = min(values.count, reference.count)
        count += number
        guard number > 0, let x = values.baseAddress, let r = reference.baseAddress else { return }
        var distribution = distribution
        distribution.record { buckets in
            var finite = 0
            for start in stride(from: 0, to: number, by: Self.elementsAtOnce) {
                let length = min(Self.elementsAtOnce, number - start)
                let (part, expected) = (x + start, r + start)
                if ck_all_finite(part, length) != 0, ck_all_finite(expected, length) != 0 {
                    recordFinite(part, against: expected, length, buckets)
                    finite += length
                    continue
                }
                for index in 0..<length {
                    if part[index].isFinite, expected[index].isFinite {
                        recordFinite(part + index, against: expected + index, 1, buckets)
                        finite += 1
                    } else {
                        recordNonFinite(part[index], expected[index])
                    }
                }
            }
            return finite
        }
        self.distribution = distribution
    }

    /// The number of elements that are summed up together; the last bits of sums depend on it.
    private static let elementsAtOnce = 1 << 12

    private mutating func recordFinite(
        _ x: UnsafePointer<Float>, against r: UnsafePointer<Float>, _ number: Int,
        _ buckets: UnsafeMutablePointer<UInt32>
    ) {
        var sums = (squaredError, referenceEnergy, energy, product, maximumError, peak)
        withUnsafeMutableBytes(of: &sums) { sums in
            let sums = sums.assumingMemoryBound(to: Double.self).baseAddress
            signFlips += ck_error_sums(x, r, number, sums, buckets)
        }
        (squaredError, referenceEnergy, energy, product, maximumError, peak) = sums
    }

    private mutating func recordNonFinite(_ x: Float, _ r: Float) {
        if x.isNaN { nans += 1 }
        if x.isInfinite { infinities += 1 }
        if !(x == r || (x.isNaN && r.isNaN)) { nonFiniteMismatches += 1 }
    }

    private mutating func recordArgmax(
        _ values: UnsafeBufferPointer<Float>, against reference: UnsafeBufferPointer<Float>, rowLength: Int
    ) {
        let rows = min(values.count, reference.count) / rowLength
        argmaxRows += rows
        for row in 0..<rows {
            var (best, bestReference) = (row * rowLength, row * rowLength)
            for index in row * rowLength..<(row + 1) * rowLength {
                if values[index] > values[best] { best = index }
                if reference[index] > reference[bestReference] { bestReference = index }
            }
            if best == bestReference { argmaxAgreements += 1 }
        }
    }

    /// Adds the metrics of another part. Merging parts in index order gives the same bits every time.
    public mutating func merge(_ other: Metrics) {
        count += other.count
        squaredError += other.squaredError
        referenceEnergy += other.referenceEnergy
        energy += other.energy
        product += other.product
        maximumError = max(maximumError, other.maximumError)
        peak = max(peak, other.peak)
        nans += other.nans
        infinities += other.infinities
        nonFiniteMismatches += other.nonFiniteMismatches
        signFlips += other.signFlips
        distribution.merge(other.distribution)
        argmaxRows += other.argmaxRows
        argmaxAgreements += other.argmaxAgreements
    }
}

extension Metrics {
    /// Both sides are equal, in NaNs and infinities too.
    public var isExact: Bool { squaredError == 0 && maximumError == 0 && nonFiniteMismatches == 0 }

    /// The largest absolute error; infinity if only one side is finite somewhere.
    var largestError: Double { nonFiniteMismatches > 0 ? .infinity : maximumError }

    /// The signal-to-quantisation-noise ratio in dB, 10 log10(sum r^2 / sum (x - r)^2): infinity if both sides are
    /// equal; minus infinity if only one side is finite somewhere, or if the reference is all zero and the values are
    /// not.
    public var sqnr: Double { decibels(referenceEnergy) }

    /// The peak signal-to-noise ratio in dB: the squared peak of the reference over the mean squared error.
    public var psnr: Double { decibels(peak * peak * Double(count)) }

    private func decibels(_ signal: Double) -> Double {
        if nonFiniteMismatches > 0 { return -.infinity }
        return squaredError == 0 ? .infinity : 10 * log10(signal / squaredError)
    }

    /// ||x - r|| / ||r||
    public var relativeL2: Double {
        if nonFiniteMismatches > 0 { return .infinity }
        return squaredError == 0 ? 0 : (squaredError / referenceEnergy).squareRoot()
    }

    /// The cosine similarity; 1 for two zero tensors, 0 if only one is zero; NaN if only one side is finite somewhere.
    public var cosine: Double {
        if nonFiniteMismatches > 0 { return .nan }
        if squaredError == 0 { return 1 }
        let norms = energy.squareRoot() * referenceEnergy.squareRoot()
        if norms == 0 { return 0 }
        return min(1, max(-1, product / norms))
    }

    /// The absolute error that 99.9 % of the elements do not exceed, to 1/128 of its value, at most `maximumError`.
    public var percentile999: Double { summarizedPercentile ?? min(distribution.quantile(0.999), maximumError) }

    /// The same metrics without the distribution, which takes up to a hundred times their memory.
    var summarized: Metrics {
        var copy = self
        copy.summarizedPercentile = percentile999
        copy.distribution = ErrorDistribution()
        return copy
    }

    /// The root mean square of the reference.
    public var referenceRMS: Double { count == 0 ? 0 : (referenceEnergy / Double(count)).squareRoot() }

    /// The fraction of rows whose largest element is at the reference's index; nil if rows were not compared.
    public var argmaxAgreement: Double? {
        argmaxRows == 0 ? nil : Double(argmaxAgreements) / Double(argmaxRows)
    }
}
