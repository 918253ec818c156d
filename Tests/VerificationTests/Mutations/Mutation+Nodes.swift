import AccelByteIO
import AccelPrograms
import AccelTensors
import TestSupport

@testable import AccelPackages

extension Mutation {
    func applyToNode(_ package: inout DecodedPackage, _ generator: inout SeededGenerator) -> String? {
        guard let function = package.functions.indices.randomElement(using: &generator) else { return nil }
        let program = package.functions[function].program
        guard let index = program.nodes.indices.randomElement(using: &generator) else { return nil }
        var nodes = program.nodes
        let node = nodes[index]
        var title = "\(node.operation.name) \(node.label)"
        switch self {
        case .nodeDropped: nodes.remove(at: index)
        case .nodeRepeated:
            let label = Bool.random(using: &generator) ? node.label : node.label + ".again"
            let twin = Program.Node(label: label, operation: node.operation, inputs: node.inputs, outputs: node.outputs)
            nodes.insert(twin, at: index)
        case .nodeOrder:
            guard index + 1 < nodes.count else { return nil }
            nodes.swapAt(index, index + 1)
        case .nodeLabel: nodes[index] = node.with(label: Mutation.digit(of: node.label))
        case .operatorKind:
            // Another operator that takes these attributes.
            let names = Operators.all.map { $0.name }.filter { $0 != node.operation.name }.shuffled(using: &generator)
            let other = names.lazy.compactMap { try? Operators.make($0, node.operation.attributes) }
                .first { $0.attributes == node.operation.attributes }
            guard let other else { return nil }
            nodes[index] = node.with(operation: other)
            title += " becomes \(other.name)"
        case .attribute:
            var attributes = node.operation.attributes
            guard let name = attributes.values.keys.sorted().randomElement(using: &generator),
                let value = attributes[name]
            else { return nil }
            attributes[name] = Self.changed(value, &generator)
            // The decoder would reject what the operator does not take.
            guard let other = try? Operators.make(node.operation.name, attributes),
                other.attributes != node.operation.attributes
            else { return nil }
            nodes[index] = node.with(operation: other)
            title += ": \(name)"
        default:
            guard let inputs = changedInputs(of: node, in: program, &generator), inputs != node.inputs else {
                return nil
            }
            nodes[index] = node.with(inputs: inputs)
            title += " reads \(inputs.map(\.id)), not \(node.inputs.map(\.id))"
        }
        package.change(function) { $0.with(nodes: nodes) }
        return title
    }

    private func changedInputs(
        of node: Program.Node, in program: Program, _ generator: inout SeededGenerator
    ) -> [Value]? {
        var inputs = node.inputs
        guard let place = inputs.indices.randomElement(using: &generator) else { return nil }
        switch self {
        case .inputOrder: inputs.swapAt(place, (place + 1) % inputs.count)
        case .inputCount:
            if Bool.random(using: &generator) { inputs.removeLast() } else { inputs.append(inputs[place]) }
        default:
            // Often one of the same type, which no shape rule tells apart.
            let type = program.type(of: inputs[place])
            let values = program.types.indices.map(Value.init)
            let same = values.filter { program.type(of: $0) == type }
            let others = Bool.random(using: &generator) ? same : values
            guard let other = others.randomElement(using: &generator) else { return nil }
            inputs[place] = other
        }
        return inputs
    }

    private static func changed(_ value: AttributeValue, _ generator: inout SeededGenerator) -> AttributeValue {
        switch value {
        case .integer(let number): return .integer(number + (Bool.random(using: &generator) ? 1 : -1))
        case .number(let number):
            return .number([number.nextUp, number * 3, 0, -number].randomElement(using: &generator) ?? 0)
        case .word:
            let words = ["none", "gelu_erf", "gelu_tanh", "relu", "silu", "tanh", "sum", "mean", "max", "F32", "I64"]
            return .word(words.randomElement(using: &generator) ?? "")
        case .flag(let flag): return .flag(!flag)
        case .integers(var list):
            guard let index = list.indices.randomElement(using: &generator) else { return .integers([1]) }
            if Bool.random(using: &generator) {
                list[index] += 1
            } else {
                list.swapAt(index, (index + 1) % list.count)
            }
            return .integers(list)
        case .dimensions(var list):
            guard let index = list.indices.randomElement(using: &generator) else { return .dimensions([1]) }
            list[index] = .fixed((list[index].value ?? 0) + 1)
            return .dimensions(list)
        }
    }
}

extension Program.Node {
    fileprivate func with(
        label: String? = nil, operation: (any Operator)? = nil, inputs: [Value]? = nil
    ) -> Program.Node {
        .init(
            label: label ?? self.label, operation: operation ?? self.operation, inputs: inputs ?? self.inputs,
            outputs: outputs)
    }
}
