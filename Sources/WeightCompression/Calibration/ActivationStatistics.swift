/// What the inputs of a weight were like over sample data: the vectors x that its rows are multiplied with.
public final class ActivationStatistics: Sendable {
    /// Length of x: the weight's columns.
    public let columns: Int
    /// How many vectors were seen.
    public let count: Int
    /// The mean of x[i] * x[j], row-major `columns` x `columns`, symmetric.
    public let moments: [Float]

    /// - Parameter moments: `columns` x `columns` means, symmetric.
    public init(columns: Int, count: Int, moments: [Float]) {
        self.columns = columns
        self.count = count
        self.moments = moments
    }

    /// The mean of x[i]^2.
    public var meanSquares: [Float] { (0..<columns).map { moments[$0 * columns + $0] } }
}
