/// The pixels of a row or column that a pixel of the resized one is made of, with weights in 22 bits.
struct ResizingWeights {
    static let bits = 22
    /// The first pixel for each result, and the index of its first weight; `starts` has one more for the end.
    let firsts: [Int]
    let starts: [Int]
    let weights: [Int32]

    /// - Parameters:
    ///   - source: the pixels of the row.
    ///   - target: the pixels of the result.
    init(from source: Int, to target: Int, by filter: ResizingFilter) {
        let scale = Double(source) / Double(target)
        // A smaller picture is smoothed, so that each pixel counts.
        let stretch = max(scale, 1)
        let support = filter.support * stretch
        var (firsts, starts, weights): ([Int], [Int], [Int32]) = ([], [0], [])
        for index in 0..<target {
            let centre = (Double(index) + 0.5) * scale
            let first = max(0, Int(centre - support + 0.5))
            let end = min(source, Int(centre + support + 0.5))
            let shares = (first..<max(first, end)).map {
                filter.weight((Double($0) - centre + 0.5) * (1 / stretch))
            }
            let sum = shares.reduce(0, +)
            let unit = Double(1 << Self.bits)
            weights += shares.map { share in
                let scaled = (sum == 0 ? share : share / sum) * unit
                return Int32(scaled < 0 ? scaled - 0.5 : scaled + 0.5)
            }
            firsts.append(first)
            starts.append(weights.count)
        }
        (self.firsts, self.starts, self.weights) = (firsts, starts, weights)
    }
}
