import AccelTensors
public import AccelWeightCompression

extension FrozenProgram {
    /// Rounds activations as `Program.quantizingActivations` does.
    /// - Throws: `ShapeError` if the program is not valid.
    public func quantizingActivations(by recipe: Recipe, ranges: [String: RowRounding] = [:]) throws -> FrozenProgram {
        try applying { try $0.quantizingActivations(by: recipe, ranges: ranges) }
    }
}

extension Program {
    /// Replaces linear operators by ones that round their first input, as a recipe requests for their weights.
    /// Operators over computed matrices stay as they are, and so do those of a few rows, such as a decode step's, where a recipe
    /// requests bfloat16. Results change by the rounding, so this is not a `ProgramPass`.
    /// - Parameter ranges: the fixed range of what each weight is multiplied with, by the weight's name. A weight that needs
    ///   one and has none gets `RowRounding.unknown`.
    /// - Throws: `ShapeError` if the program is not valid.
    public func quantizingActivations(by recipe: Recipe, ranges: [String: RowRounding] = [:]) throws -> Program {
        guard recipe.quantizesActivations else { return self }
        let roundings = activationRoundings(by: recipe)
        return try rewriting { node, inputs, builder in
            guard let linear = node.operation as? Linear, let (name, chosen) = roundings[node.inputs[1]] else {
                return nil
            }
            guard chosen.numbers != .bfloat16 || !hasFewRows(node.inputs[0]) else { return nil }
            let rounding: QuantizedLinear.Rounding =
                chosen.numbers == .bfloat16 ? .bfloat16 : chosen.isStatic ? .range(ranges[name] ?? .unknown) : .rows
            return [try builder.apply(QuantizedLinear(activation: linear.activation, rounding: rounding), inputs)]
        }
    }

    /// The rows from which on products of bfloat16 are faster than those of float32. A step of fewer rows takes the time in which its
    /// weights are read, as they are stored; rounding them would only add to it.
    private static let fewestBFloat16Rows = 8

    /// Whether a value is known to have fewer rows than that.
    private func hasFewRows(_ value: Value) -> Bool {
        guard let shape = type(of: value).shape else { return false }
        return shape.dimensions.dropLast().reduce(1, *) < Self.fewestBFloat16Rows
    }

    /// The weights of linear operators whose first inputs are to be rounded, by value.
    private func activationRoundings(by recipe: Recipe) -> [Value: (name: String, ActivationQuantization)] {
        let readers = constantReaders
        let weights = Dictionary(
            constants.filter(\.isWeight).compactMap { constant in constant.tensor.map { (constant.value, $0) } }
        ) { first, _ in first }
        return weights.compactMapValues { weight in
            let rounding = recipe.activations(for: weight, readBy: readers[weight.name] ?? [])
            return rounding.isRounded ? (weight.name, rounding) : nil
        }
    }

    /// The names of the weights that linear operators multiply with activations that are rounded to a fixed range.
    package func weightsOfFixedRanges(by recipe: Recipe) -> Set<String> {
        let roundings = activationRoundings(by: recipe)
        return Set(
            nodes.compactMap { node in
                guard node.operation is Linear, let (name, rounding) = roundings[node.inputs[1]], rounding.isStatic
                else { return nil }
                return name
            })
    }

    /// The names of the weights that are multiplied with activations of 8 bits.
    package var weightsOfByteActivations: Set<String> {
        Set(quantizedLinears.filter { $0.rounding != .bfloat16 }.map(\.weight))
    }

    /// The names of the weights that are multiplied with activations of bfloat16.
    package var weightsOfBFloat16Activations: Set<String> {
        Set(quantizedLinears.filter { $0.rounding == .bfloat16 }.map(\.weight))
    }

    /// The fixed ranges of the program's linear operators, by the name of the weight.
    package var activationRanges: [String: RowRounding] {
        let ranges = quantizedLinears.compactMap { weight, rounding -> (String, RowRounding)? in
            guard case .range(let range) = rounding else { return nil }
            return (weight, range)
        }
        return Dictionary(ranges) { first, _ in first }
    }

    private var quantizedLinears: [(weight: String, rounding: QuantizedLinear.Rounding)] {
        let names = Dictionary(constants.map { ($0.value, $0.name) }) { first, _ in first }
        return nodes.compactMap { node in
            guard let linear = node.operation as? QuantizedLinear, let name = names[node.inputs[1]] else { return nil }
            return (name, linear.rounding)
        }
    }
}
