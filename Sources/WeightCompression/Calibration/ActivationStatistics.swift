public import ByteIO
import Synchronization

/// What the inputs of a weight were like over sample data: the vectors x that its rows are multiplied with.
public final class ActivationStatistics: Sendable {
    /// Length of x: the weight's columns.
    public let columns: Int
    /// How many vectors were seen.
    public let count: Int
    /// The mean of x[i] * x[j], row-major `columns` x `columns`, symmetric.
    public let moments: [Float]
    private let factors = Mutex<[FeedbackOrder: FeedbackFactor]>([:])

    /// - Parameter moments: `columns` x `columns` means, symmetric.
    public init(columns: Int, count: Int, moments: [Float]) {
        self.columns = columns
        self.count = count
        self.moments = moments
    }

    /// Of all that is in it.
    public var digest: Digest {
        let content = TreeDigest.digest(of: ByteView(moments))
        return SHA256.digest(of: "\(columns) columns, \(count) vectors, moments \(content)")
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
