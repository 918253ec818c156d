public import AccelByteIO

/// What the inputs of a weight were like over sample data: the vectors x that its rows are multiplied with.
public final class ActivationStatistics: Sendable {
    /// Length of x: the weight's columns.
    public let columns: Int
    /// How many vectors were seen.
    public let count: Int
    /// The mean of x[i] * x[j], row-major `columns` x `columns`, symmetric.
    public let moments: [Float]
    /// The mean of (y[i] - x[i]) * x[j], row-major, where y is what x would be with all weights before as they were: what
    /// this weight can make good for. Empty where the vectors are those of the weights as they were.
    public let drift: [Float]
    /// Vectors that are in none of the means, to judge by.
    public let heldOut: HeldOutVectors
    private let factors = Locked<[FeedbackOrder: FeedbackFactor]>([:])

    /// - Parameters:
    ///   - moments: `columns` x `columns` means, symmetric.
    ///   - drift: as many, or none.
    public init(
        columns: Int, count: Int, moments: [Float], drift: [Float] = [], heldOut: HeldOutVectors = HeldOutVectors()
    ) {
        self.columns = columns
        self.count = count
        self.moments = moments
        self.drift = drift
        self.heldOut = heldOut
    }

    /// Of all that is in it.
    public var digest: Digest {
        let contents = [moments, drift, heldOut.vectors, heldOut.drifts].map { TreeDigest.digest(of: ByteView($0)) }
        let names = zip(["moments", "drift", "held", "held drift"], contents).map { "\($0) \($1)" }
        return SHA256.digest(of: "\(columns) columns, \(count) vectors, \(names.joined(separator: ", "))")
    }

    /// The mean of x[i]^2.
    public var meanSquares: [Float] { (0..<columns).map { moments[$0 * columns + $0] } }

    /// The factor of the moments for columns taken in an order; made when it is first asked for.
    func factor(_ order: FeedbackOrder, threads: Int) -> FeedbackFactor {
        if let known = factors.withLock({ $0[order] }) { return known }
        let factor = FeedbackFactor(self, order: order, threads: threads)
        factors.withLock { $0[order] = factor }
        return factor
    }
}
