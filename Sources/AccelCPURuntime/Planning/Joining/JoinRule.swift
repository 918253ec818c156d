/// A rule that finds calls which run as one. A conforming type is one file in `Joining/` and one line in `JoinRules`.
///
/// A group of calls has the result of the same calls one after the other, to the bit; a call with an observer runs alone.
protocol JoinRule: Sendable {
    /// Returns the group that begins with the call at `index`, of two calls at least; nil if there is none.
    static func group(at index: Int, in calls: PlannedCalls) -> Range<Int>?
}

/// The registry of rules that join calls.
enum JoinRules {
    static let all: [any JoinRule.Type] = [SiblingProducts.self, ResidualSum.self]

    /// Groups that do not overlap, in order.
    static func groups(
        of calls: [FunctionPlanner.Call], outputs: [FunctionPlanner.Placement.Home]
    ) -> [Range<Int>] {
        let planned = PlannedCalls(calls, outputs: outputs)
        var (groups, next): ([Range<Int>], Int) = ([], 0)
        while next < calls.count {
            let group = all.lazy.compactMap { $0.group(at: next, in: planned) }.first
            if let group { groups.append(group) }
            next = group?.upperBound ?? next + 1
        }
        return groups
    }
}

/// The calls of a function in order, and how often their results are read.
struct PlannedCalls {
    let calls: [FunctionPlanner.Call]
    /// Reads of a piece of memory by calls, and by the function's outputs.
    private let reads: [FunctionPlanner.Placement.Home: Int]

    init(_ calls: [FunctionPlanner.Call], outputs: [FunctionPlanner.Placement.Home]) {
        self.calls = calls
        reads = (calls.flatMap { $0.inputs.map(\.home) } + outputs).reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }

    /// Whether one operand alone reads the memory of a result.
    func isReadOnce(_ result: FunctionPlanner.Placement) -> Bool { reads[result.home] == 1 }
}
