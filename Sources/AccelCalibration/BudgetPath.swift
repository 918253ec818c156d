/// From the smallest way to store all weights to the largest, step by step, the step first that takes most error for its
/// bytes: what a Lagrangian over the weights' convex hulls chooses for all prices.
struct BudgetPath {
    struct Point: Sendable {
        let bytes: Int
        let error: Double
        /// By weight, the index on its hull.
        let choice: [Int]
    }
    private(set) var points: [Point]

    /// - Parameter room: steps that need more bytes are passed over, smaller ones still taken. nil: no limit.
    init(_ hulls: [[BudgetCandidate]], room: Int? = nil) {
        var steps: [(gain: Double, weight: Int, to: Int)] = []
        for (weight, hull) in hulls.enumerated() {
            for index in hull.indices.dropFirst() {
                let bytes = max(hull[index].bytes - hull[index - 1].bytes, 1)
                steps.append(((hull[index - 1].error - hull[index].error) / Double(bytes), weight, index))
            }
        }
        steps.sort { ($1.gain, $0.weight, $0.to) < ($0.gain, $1.weight, $1.to) }
        var choice = hulls.map { _ in 0 }
        var bytes = hulls.reduce(0) { $0 + ($1.first?.bytes ?? 0) }
        var error = hulls.reduce(0) { $0 + ($1.first?.error ?? 0) }
        points = [Point(bytes: bytes, error: error, choice: choice)]
        for (_, weight, index) in steps where choice[weight] == index - 1 {
            let hull = hulls[weight]
            let more = hull[index].bytes - hull[index - 1].bytes
            if let room, bytes + more > room { continue }
            choice[weight] = index
            bytes += more
            error += hull[index].error - hull[index - 1].error
            points.append(Point(bytes: bytes, error: error, choice: choice))
        }
    }
}
