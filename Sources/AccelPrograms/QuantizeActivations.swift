import AccelTensors
public import AccelWeightCompression

extension FrozenProgram {
    /// Rounds activations as `Program.quantizingActivations` does.
    /// - Throws: `ShapeError` if the program is not valid.
    public func quantizingActivations(by recipe: Recipe) throws -> FrozenProgram {
        try applying { try $0.quantizingActivations(by: recipe) }
    }
}

extension Program {
    /// Replaces linear operators by ones that round their first input to 8 bits, as a recipe requests for their weights.
    /// Operators over computed matrices stay as they are. Results change by the rounding, so this is not a `ProgramPass`.
    /// - Throws: `ShapeError` if the program is not valid.
    public func quantizingActivations(by recipe: Recipe) throws -> Program {
        guard recipe.quantizesActivations else { return self }
        let weights = Dictionary(
            constants.filter(\.isWeight).compactMap { constant in constant.tensor.map { (constant.value, $0) } }
        ) { first, _ in first }
        let readers = constantReaders
        return try rewriting { node, inputs, builder in
            guard let linear = node.operation as? Linear, let weight = weights[node.inputs[1]],
                recipe.activations(for: weight, readBy: readers[weight.name] ?? []) == .int8
            else { return nil }
            return [try builder.apply(QuantizedLinear(activation: linear.activation), inputs)]
        }
    }
}
