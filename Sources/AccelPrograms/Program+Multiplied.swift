import AccelTensors

extension Program {
    /// The names of the weights of linear operators and convolutions: activation statistics exist for these only.
    public var multipliedWeights: Set<String> {
        let names = Dictionary(uniqueKeysWithValues: constants.filter(\.isWeight).map { ($0.value, $0.name) })
        return Set(
            nodes.filter { $0.operation is any LinearOperator || $0.operation is Conv }.compactMap { node in
                node.inputs.count > 1 ? names[node.inputs[1]] : nil
            })
    }
}

extension Sequence where Element == Program {
    /// The same names of all programs.
    package var multipliedWeights: Set<String> { reduce(into: []) { $0.formUnion($1.multipliedWeights) } }
}
