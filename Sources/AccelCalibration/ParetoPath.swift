/// The choices of schemes from the smallest to the largest, one step at a time; each step is the one that removes the
/// most error per byte. These are the solutions of the Lagrangian over the convex hulls of the weights, for all prices.
struct ParetoPath {
    struct Point: Sendable {
        let bytes: Int
        let error: Double
        /// The index on its hull, for each weight.
        let choice: [Int]
    }
    private(set) var points: [Point]

    /// - Parameter byteLimit: the most bytes of all weights; steps that exceed it are skipped, and smaller ones are still
    ///   taken. nil for no limit.
    init(_ hulls: [[SchemeCandidate]], byteLimit: Int? = nil) {
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
            if let byteLimit, bytes + more > byteLimit { continue }
            choice[weight] = index
            bytes += more
            error += hull[index].error - hull[index - 1].error
            points.append(Point(bytes: bytes, error: error, choice: choice))
        }
    }
}
