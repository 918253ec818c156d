import AccelTensors

extension Program: CustomStringConvertible {
    /// The program as text, one line per value; golden files and error reports use it.
    ///
    /// ```text
    /// program model(batch, sequence)
    ///   input input_ids: I64[batch,sequence]
    ///   constant embeddings.LayerNorm.bias: F32[384]
    ///   %3 = gather(embeddings.word_embeddings.weight, input_ids) "embeddings": F32[batch,sequence,384]
    ///   output last_hidden_state = %90
    /// ```
    public var description: String { lines.joined(separator: "\n") + "\n" }

    /// The lines of `description`.
    public var lines: [String] {
        var names: [Value: String] = [:]
        var lines = ["program \(name)(\(dimensions.map(\.name).joined(separator: ", ")))"]
        for input in inputs {
            names[input.value] = input.name
            lines.append("  input \(input.name): \(type(of: input.value))")
        }
        for constant in constants {
            names[constant.value] = constant.name
            lines.append(
                "  \(constant.isWeight ? "weight" : "table") \(constant.name): \(type(of: constant.value))")
        }
        for state in states {
            names[state.value] = state.name
            let start = state.initial == 0 ? "" : " = \(state.initial)"
            lines.append("  state \(state.name): \(type(of: state.value))\(start)")
        }
        var count = 0
        for node in nodes {
            for output in node.outputs {
                names[output] = "%\(count)"
                count += 1
            }
            let results = node.outputs.map { names[$0] ?? "" }.joined(separator: ", ")
            let arguments = node.inputs.map { names[$0] ?? "?" }.joined(separator: ", ")
            let types = node.outputs.map { type(of: $0).description }.joined(separator: ", ")
            lines.append(
                "  \(results) = \(node.operation.name)(\(arguments))\(node.operation.attributes.text) \"\(node.label)\": \(types)"
            )
        }
        for output in outputs { lines.append("  output \(output.name) = \(names[output.value] ?? "?")") }
        for state in states where state.next != state.value {
            lines.append("  update \(state.name) = \(names[state.next] ?? "?")")
        }
        return lines
    }
}

extension Attributes {
    /// The attributes as text, such as ` {epsilon=1e-12, kind=erf}`; empty if there are none.
    public var text: String {
        if values.isEmpty { return "" }
        let parts = values.sorted { $0.key < $1.key }.map { name, value in
            switch value {
            case .integer(let integer): "\(name)=\(integer)"
            case .number(let number): "\(name)=\(number)"
            case .word(let word): "\(name)=\(word)"
            case .flag(let flag): "\(name)=\(flag)"
            case .integers(let integers): "\(name)=\(integers)"
            case .dimensions(let dimensions): "\(name)=[\(dimensions.map(\.description).joined(separator: ", "))]"
            }
        }
        return " {\(parts.joined(separator: ", "))}"
    }
}
