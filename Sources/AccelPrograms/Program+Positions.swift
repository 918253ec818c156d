import AccelTensors

extension Program {
    /// How many positions the model has embeddings for: the rows of the shortest weight whose rows are taken by numbers that follow from
    /// the input of the role `position`, and from no other input. Nil where there is no such weight, as with rotary embeddings.
    package var positionLimit: Int? {
        guard let position = input(.position)?.value else { return nil }
        var following: Set<Value> = [position]
        let tables = Set(constants.map(\.value))
        let weights = Dictionary(uniqueKeysWithValues: constants.filter(\.isWeight).map { ($0.value, $0.shape) })
        var limit: Int?
        for node in nodes {
            if node.operation is Gather, let rows = weights[node.inputs[0]]?.dimensions[0],
                following.contains(node.inputs[1])
            {
                limit = min(limit ?? rows, rows)
            }
            let others = node.inputs.filter { !tables.contains($0) }
            if !others.isEmpty, others.allSatisfy(following.contains) { following.formUnion(node.outputs) }
        }
        return limit
    }
}
