import AccelTensors

extension Program {
    /// Returns the program with its token logits for the last position of each block only. The rows of the other
    /// positions are cut off before the operators that compute logits row by row: the head, and the normalisation
    /// before it. The role of the output says so. The last position is the last one of the block: a caller that pads
    /// blocks has to pad before the tokens.
    /// - Returns: nil unless the program is a decoder with logits over the vocabulary for all positions.
    /// - Throws: `ShapeError` if the rewritten program is not valid, which is an error of this function.
    public func computingLastLogits() throws -> Program? {
        guard [.decode, .prefill, .step].contains(interface.role), let tokens = input(.tokens),
            let output = outputs.first(where: { isOfTokens($0, tokens) })
        else { return nil }
        let (cut, head) = rowwiseTail(of: output.value)
        guard let head else { return nil }
        let type = type(of: cut)
        let last = Slice(
            begin: type.dimensions.enumerated().map { $0 == 1 ? $1 - 1 : 0 },
            sizes: type.dimensions.enumerated().map { $0 == 1 ? 1 : $1 })
        var interface = interface
        interface.outputs[output.name] = .logits(over: .vocabulary, positions: .last)
        return try rewriting { node, inputs, builder in
            guard node.label == head.label, let index = node.inputs.firstIndex(of: cut) else { return nil }
            var inputs = inputs
            inputs[index] = try builder.labelled("\(output.name).last") { try $0.apply(last, [inputs[index]]) }
            return try builder.labelled(node.label) { try $0.applyAll(node.operation, inputs) }
        }.declaring(interface)
    }

    /// Returns whether an output has logits over the vocabulary for each of the tokens.
    private func isOfTokens(_ output: Output, _ tokens: Input) -> Bool {
        let (role, type) = (interface.role(of: output.name, .output), type(of: output.value))
        return role == .logits(over: .vocabulary) && type.rank == 3
            && type.dimensions[1] == self.type(of: tokens.value).dimensions.last
    }

    /// Follows a value back through operators that compute it row by row from one other value, as long as nothing else
    /// reads their results.
    /// - Returns: the first value, and the first of the operators; nil unless a linear operator is among them.
    private func rowwiseTail(of value: Value) -> (start: Value, first: Node?) {
        let (fixed, uses) = (constantValues, useCounts)
        let producers = nodes.reduce(into: [:]) { producers, node in node.outputs.forEach { producers[$0] = node } }
        var (start, first, hasHead) = (value, Node?.none, false)
        while uses[start] == 1, let node = producers[start], let source = rowwiseSource(of: node, fixed) {
            hasHead = hasHead || node.operation is Linear
            (start, first) = (source, node)
        }
        return (start, hasHead ? first : nil)
    }

    /// The constants, and the values computed from constants only.
    private var constantValues: Set<Value> {
        nodes.reduce(into: Set(constants.map(\.value))) { fixed, node in
            if node.inputs.allSatisfy(fixed.contains) { fixed.formUnion(node.outputs) }
        }
    }

    /// Returns the only input of a node that depends on the program's inputs, if each row of the result depends on the
    /// same row of it alone; else nil.
    private func rowwiseSource(of node: Node, _ fixed: Set<Value>) -> Value? {
        let sources = node.inputs.filter { !fixed.contains($0) }
        guard sources.count == 1, let source = sources.first, let result = node.outputs.first else { return nil }
        switch node.operation {
        case is Linear, is LayerNorm, is RMSNorm: return source == node.inputs[0] ? source : nil
        case is any UnaryOperator: return source
        case is any BinaryOperator:
            let isOfRows = node.inputs.allSatisfy { $0 == source || type(of: $0).rank <= 1 }
            return isOfRows && type(of: source).rank == type(of: result).rank ? source : nil
        default: return nil
        }
    }
}
