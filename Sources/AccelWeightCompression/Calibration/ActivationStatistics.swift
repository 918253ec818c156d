public import AccelByteIO

/// Activation statistics of one weight: moments of the vectors x that its rows are multiplied with, over the
/// calibration data.
public final class ActivationStatistics: Sendable {
    /// The length of x: the number of the weight's columns.
    public let columns: Int
    /// The number of vectors.
    public let count: Int
    /// The mean of x[i] * x[j], row-major [columns, columns], symmetric. Empty if only the mean squares are known.
    public let moments: [Float]
    /// The mean of x[i]^2, one number per column.
    public let meanSquares: [Float]
    /// The mean of (y[i] - x[i]) * x[j], row-major [columns, columns], where y is the vector in the original model and
    /// x the one behind compressed weights. The weight can compensate for this drift. Empty if x comes from the
    /// original model.
    public let drift: [Float]
    /// Vectors excluded from the means, for the judgement of methods.
    public let heldOut: HeldOutVectors
    private let factors = Locked<[FeedbackOrder: FeedbackFactor]>([:])
    private let knownDigest = Locked<Digest?>(nil)

    /// Creates statistics from finished means.
    /// - Parameters:
    ///   - moments: [columns, columns], symmetric.
    ///   - drift: [columns, columns], or empty.
    public init(
        columns: Int, count: Int, moments: [Float], drift: [Float] = [], heldOut: HeldOutVectors = HeldOutVectors()
    ) {
        self.columns = columns
        self.count = count
        self.moments = moments
        meanSquares = moments.isEmpty ? [] : (0..<columns).map { moments[$0 * columns + $0] }
        self.drift = drift
        self.heldOut = heldOut
    }

    /// Creates statistics of which only the mean squares are known, enough for `CalibrationMethod.weighted`.
    /// - Parameter meanSquares: one number per column.
    public init(count: Int, meanSquares: [Float]) {
        columns = meanSquares.count
        self.count = count
        self.meanSquares = meanSquares
        (moments, drift, heldOut) = ([], [], HeldOutVectors())
    }

    /// The digest of all values, for cache keys. It is computed at the first call and kept.
    public var digest: Digest {
        knownDigest.withLock { known in
            let digest = known ?? computedDigest
            known = digest
            return digest
        }
    }

    private var computedDigest: Digest {
        var values = [
            ("moments", moments), ("drift", drift), ("held", heldOut.vectors), ("held drift", heldOut.drifts),
        ]
        if moments.isEmpty { values.append(("mean squares", meanSquares)) }
        let names = values.map { "\($0) \(TreeDigest.digest(of: ByteView($1)))" }
        return SHA256.digest(of: "\(columns) columns, \(count) vectors, \(names.joined(separator: ", "))")
    }

    /// Returns the factor of the moments for an order of the columns. It is computed at the first call and kept.
    func factor(_ order: FeedbackOrder, threads: Int) -> FeedbackFactor {
        if let known = factors.withLock({ $0[order] }) { return known }
        let factor = FeedbackFactor(self, order: order, threads: threads)
        factors.withLock { $0[order] = factor }
        return factor
    }
}
