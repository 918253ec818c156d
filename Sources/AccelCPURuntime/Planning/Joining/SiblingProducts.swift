import AccelPrograms

/// Products of the same rows with several weights, as those of queries, keys and values, or of gate and up projections: the rows
/// are rounded once, and all workers share all products.
enum SiblingProducts: JoinRule {
    static func group(at index: Int, in planned: PlannedCalls) -> Range<Int>? {
        let calls = planned.calls
        guard calls[index].operation is any LinearOperator, let x = calls[index].inputs.first else { return nil }
        var end = index + 1
        while end < calls.count, calls[end].operation is any LinearOperator, calls[end].inputs.first == x,
            !calls[end].inputs.contains(where: { input in
                calls[index..<end].contains { $0.outputs.contains { $0.home == input.home } }
            })
        {
            end += 1
        }
        return end - index > 1 ? index..<end : nil
    }
}

extension Program {
    /// How many nodes may lie between two products of the same rows that are made to follow each other.
    private static let siblingDistance = 32

    /// The nodes in an order in which products of the same rows follow each other where they can.
    var nodesWithSiblings: [Node] {
        let given = Set(constants.map(\.value) + inputs.map(\.value))
        var isTaken = [Bool](repeating: false, count: nodes.count)
        var ordered: [Node] = []
        for (index, node) in nodes.enumerated() where !isTaken[index] {
            ordered.append(node)
            guard node.operation is any LinearOperator else { continue }
            for other in index + 1..<min(index + 1 + Self.siblingDistance, nodes.count) where !isTaken[other] {
                let sibling = nodes[other]
                guard sibling.operation is any LinearOperator, sibling.inputs.first == node.inputs.first,
                    sibling.inputs.dropFirst().allSatisfy(given.contains)
                else { continue }
                isTaken[other] = true
                ordered.append(sibling)
            }
        }
        return ordered
    }
}
