import AccelCPURuntime

/// The calls of a function between which each of its states has to be in memory.
struct StateUses {
    /// The states that each call is the first to use, by the call's index. After the last call: those that no call uses.
    let first: [[Int]]
    /// The states that each call is the last to use. After the last call: those that are read once more as outputs, and
    /// those that no call uses.
    let last: [[Int]]

    init(_ function: FunctionPlan) {
        let end = function.calls.count
        var range = function.states.map { _ in end...end }
        func use(_ operand: Operand, at index: Int) {
            guard case .state(let state) = operand.storage, range.indices.contains(state) else { return }
            let isNew = range[state].lowerBound == end && index < end
            range[state] =
                (isNew ? index : range[state].lowerBound)...max(isNew ? index : range[state].upperBound, index)
        }
        for (index, call) in function.calls.enumerated() {
            for operand in call.inputs + call.outputs { use(operand, at: index) }
        }
        for output in function.outputs { use(output.operand, at: end) }
        func byCall(_ index: (ClosedRange<Int>) -> Int) -> [[Int]] {
            var lists = [[Int]](repeating: [], count: end + 1)
            for (state, range) in range.enumerated() { lists[index(range)].append(state) }
            return lists
        }
        first = byCall(\.lowerBound)
        last = byCall(\.upperBound)
    }
}
