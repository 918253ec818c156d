import AccelPrograms
import AccelTensors

/// Compares a function of a package with the one that a conversion makes: interface, and each node's operator,
/// attributes and wiring.
struct FunctionComparison {
    let found: FrozenProgram
    let wanted: FrozenProgram

    func run(_ finding: inout StructureFinding) {
        let name = found.functionName
        finding.compare(name, "the part", found.program.name, wanted.program.name)
        finding.compare(name, "the shape", found.bindings.description, wanted.bindings.description)
        finding.compare(name, "input", found.inputs, wanted.inputs, \.words)
        finding.compare(name, "state", found.states, wanted.states) { "\($0.port.words) starting as \($0.initial)" }
        compareInterfaces(&finding)
        let (values, others) = (ValueWords(found.program), ValueWords(wanted.program))
        compareNodes(values, others, &finding)
        finding.compare(
            name, "output", found.program.outputs.map { "\"\($0.name)\": \(values[$0.value])" },
            wanted.program.outputs.map { "\"\($0.name)\": \(others[$0.value])" }
        ) { $0 }
        finding.compare(
            name, "update", found.program.states.map { "of \"\($0.name)\" to \(values[$0.next])" },
            wanted.program.states.map { "of \"\($0.name)\" to \(others[$0.next])" }
        ) { $0 }
    }

    /// Compares the roles of the function and of its ports.
    private func compareInterfaces(_ finding: inout StructureFinding) {
        let (own, other, name) = (found.program.interface, wanted.program.interface, found.functionName)
        finding.compare(name, "the role", own.role.rawValue, other.role.rawValue)
        for port in wanted.program.ports {
            finding.compare(
                "\(name) \(port.name)", "the role", own.role(of: port).description, other.role(of: port).description)
        }
        finding.compare(name, "link", own.links, other.links) {
            "\"\($0.input)\" from \"\($0.output)\" of \($0.part)"
        }
    }

    private func compareNodes(_ values: ValueWords, _ others: ValueWords, _ finding: inout StructureFinding) {
        func title(_ node: Program.Node) -> String { "\(node.operation.name) \"\(node.label)\"" }
        let (name, nodes, wantedNodes) = (found.functionName, found.program.nodes, wanted.program.nodes)
        if nodes.count != wantedNodes.count { return finding.compare(name, "node", nodes, wantedNodes, title) }
        for (index, (node, other)) in zip(nodes, wantedNodes).enumerated() {
            let location = "\(name) \(node.label)"
            guard title(node) == title(other) else {
                finding.compare(location, "node \(index)", title(node), title(other))
                continue
            }
            let what = "node \(index), \(node.operation.name):"
            let (attributes, wantedAttributes) = (node.operation.attributes, other.operation.attributes)
            for attribute in Set(attributes.values.keys).union(wantedAttributes.values.keys).sorted() {
                finding.compare(
                    location, "\(what) \(attribute)", words(attributes[attribute]), words(wantedAttributes[attribute]))
            }
            finding.compare(location, "\(what) input", node.inputs.map { values[$0] }, other.inputs.map { others[$0] })
            {
                $0
            }
        }
    }

    private func words(_ attribute: AttributeValue?) -> String {
        switch attribute {
        case .integer(let integer)?: "\(integer)"
        // The description of a number is unique for every bit pattern except those of NaN.
        case .number(let number)?: number.isNaN ? "nan \(number.bitPattern)" : "\(number)"
        case .word(let word)?: "\"\(word)\""
        case .flag(let flag)?: "\(flag)"
        case .integers(let integers)?: "\(integers)"
        case .dimensions(let dimensions)?: "[\(dimensions.map(\.description).joined(separator: ", "))]"
        case nil: "missing"
        }
    }
}

/// A description of each value of a program that does not depend on the numbering of values.
private struct ValueWords {
    private var words: [Value: String] = [:]

    init(_ program: Program) {
        func add(_ value: Value, _ what: String) { words[value] = "\(what), \(program.type(of: value))" }
        for input in program.inputs { add(input.value, "input \"\(input.name)\"") }
        for state in program.states { add(state.value, "state \"\(state.name)\"") }
        for constant in program.constants {
            add(constant.value, "\(constant.isWeight ? "weight" : "table") \"\(constant.name)\"")
        }
        for node in program.nodes {
            for (index, value) in node.outputs.enumerated() { add(value, "result \(index) of \"\(node.label)\"") }
        }
    }

    subscript(value: Value) -> String { words[value] ?? "no value" }
}
