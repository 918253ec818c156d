/// The search for a choice of schemes by measurement.
///
/// The errors of single weights show where to begin. They do not add up, because gptq makes up for the errors of the weights before
/// it; what a large weight should have, next to all others, only measurements of the whole show. So its next schemes are tried, with
/// the schemes of all others that fit to them, and kept where that serves.
struct ChoiceSearch {
    /// The aim of the search.
    enum Aim {
        /// The least error of the outputs within so many bytes.
        case leastError(byteLimit: Int)
        /// The fewest bytes with which the outputs have at least this SQNR in dB.
        case fewestBytes(sqnr: Double)
    }

    /// The schemes of each weight, the smallest first.
    let hulls: [[SchemeCandidate]]
    /// The elements of each weight.
    let counts: [Int]
    let aim: Aim

    /// A weight with at least this share of all elements is large.
    private static let largeShare = 0.05
    /// The most weights that are tried.
    private static let mostTried = 4

    private struct Found {
        let choice: [Int]
        let plan: CompressionPlan
    }

    /// Returns the best measured choice; nil if none reaches the aim.
    /// - Parameter measuring: measures a choice: the index on its hull, for each weight.
    func best(measuring: ([Int]) throws -> CompressionPlan) throws -> CompressionPlan? {
        var known: [[Int]: CompressionPlan] = [:]
        func measured(_ choice: [Int]) throws -> CompressionPlan {
            if let plan = known[choice] { return plan }
            let plan = try measuring(choice)
            known[choice] = plan
            return plan
        }
        guard var best = try found([:], betterThan: nil, measured) else { return nil }
        var fixed: [Int: Int] = [:]
        /// Takes the best choice with one more scheme fixed, if it is better.
        func improve(_ weight: Int, by step: Int) throws -> Bool {
            let index = best.choice[weight] + step
            guard hulls[weight].indices.contains(index) else { return false }
            let tried = fixed.merging([weight: index]) { $1 }
            guard let better = try found(tried, betterThan: best.plan, measured) else { return false }
            (best, fixed) = (better, tried)
            return true
        }
        for weight in largest {
            // Fewer bytes for all others may do with the scheme that it has.
            if case .fewestBytes = aim { _ = try improve(weight, by: 0) }
            for step in [1, -1] {
                let start = best.choice[weight]
                while try improve(weight, by: step) {}
                if best.choice[weight] != start { break }
            }
        }
        // Errors of gptq vary from one choice to the next, so that a somewhat smaller one may be better.
        for share in Self.triedShares {
            if let better = try found(fixed, betterThan: best.plan, within: share, measured) { best = better }
        }
        return best.plan
    }

    /// The shares of the bytes within which the search is tried again.
    private static let triedShares = [0.985, 0.97, 0.955]

    /// The weights whose schemes are tried, the largest first.
    private var largest: [Int] {
        let least = Double(counts.reduce(0, +)) * Self.largeShare
        return counts.indices.filter { Double(counts[$0]) >= least }
            .sorted { (counts[$1], $0) < (counts[$0], $1) }.prefix(Self.mostTried).map { $0 }
    }

    /// Returns the best choice with some weights' schemes fixed; nil if none reaches the aim, or is better than a plan.
    /// - Parameter share: the share of the aim's bytes, or of the plan's, that the choice may have.
    private func found(
        _ fixed: [Int: Int], betterThan known: CompressionPlan?, within share: Double = 1,
        _ measuring: ([Int]) throws -> CompressionPlan
    ) throws -> Found? {
        func path(byteLimit: Int?) -> ParetoPath {
            let free = hulls.enumerated().map { index, hull in fixed[index].map { [hull[$0]] } ?? hull }
            return ParetoPath(free, byteLimit: byteLimit)
        }
        func measured(_ point: ParetoPath.Point) throws -> Found {
            let choice = point.choice.enumerated().map { fixed[$0] ?? $1 }
            return Found(choice: choice, plan: try measuring(choice))
        }
        switch aim {
        case .leastError(let limit):
            let limit = Int(Double(limit) * share)
            guard let point = path(byteLimit: limit).points.last, point.bytes <= limit else { return nil }
            let found = try measured(point)
            return found.plan.judgedSQNR > known?.judgedSQNR ?? -.infinity ? found : nil
        case .fewestBytes(let wanted):
            let most = known.map { Int(Double($0.bytes) * share) } ?? .max
            let points = path(byteLimit: nil).points.filter { $0.bytes < most }
            func reached(_ index: Int) throws -> Found? {
                let found = try measured(points[index])
                return found.plan.judgedSQNR >= wanted ? found : nil
            }
            var (low, high) = (0, points.count - 1)
            var best: Found?
            if known != nil {
                // The largest of them first: if it does not reach the aim, no smaller one does.
                guard high >= 0, let first = try reached(high) else { return nil }
                (best, high) = (first, high - 1)
            }
            var left = Self.mostMeasured
            while low <= high, left > 0 {
                left -= 1
                let middle = (low + high) / 2
                if let found = try reached(middle) {
                    (best, high) = (found, middle - 1)
                } else {
                    low = middle + 1
                }
            }
            return best
        }
    }

    /// The most steps of one search for the fewest bytes.
    private static let mostMeasured = 8
}
