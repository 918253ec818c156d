import Programs
import Tensors

/// Compares a compiled function with the one that a conversion makes: interface, memory, and each call's operator,
/// attributes and wiring.
struct FunctionComparison {
    let found: CompiledFunction
    let wanted: CompiledFunction
    /// Names of the weights that operands count into, on either side.
    let foundWeights: [String]
    let wantedWeights: [String]

    func run(_ finding: inout StructureFinding) {
        let name = found.name
        finding.compare(name, "the name", "\"\(name)\"", "\"\(wanted.name)\"")
        finding.compare(name, "the part", found.part, wanted.part)
        finding.compare(name, "the shape", found.bindings.description, wanted.bindings.description)
        finding.compare(name, "input", found.inputs, wanted.inputs, \.words)
        finding.compare(name, "state", found.states, wanted.states) { "\($0.port.words) starting as \($0.initial)" }
        compareInterfaces(&finding)
        finding.compare(name, "the arena", "\(found.arenaBytes) bytes", "\(wanted.arenaBytes) bytes")
        compareCalls(&finding)
        finding.compare(name, "output", found.outputs.map(\.name), wanted.outputs.map(\.name)) { "\"\($0)\"" }
        for (output, other) in zip(found.outputs, wanted.outputs) where output.name == other.name {
            finding.compare(
                "\(name) \(output.name)", "the output", words(output.operand, foundWeights),
                words(other.operand, wantedWeights))
        }
    }

    /// What the function is for and what its ports mean.
    private func compareInterfaces(_ finding: inout StructureFinding) {
        let (own, other) = (found.interface, wanted.interface)
        finding.compare(found.name, "the role", own.role.rawValue, other.role.rawValue)
        for port in wanted.ports {
            finding.compare(
                "\(found.name) \(port.name)", "the role", own.role(of: port).description,
                other.role(of: port).description)
        }
        finding.compare(found.name, "link", own.links, other.links) {
            "\"\($0.input)\" from \"\($0.output)\" of \($0.part)"
        }
    }

    private func compareCalls(_ finding: inout StructureFinding) {
        func title(_ call: KernelCall) -> String { "\(call.operation.name) \"\(call.label)\"" }
        if found.calls.count != wanted.calls.count {
            return finding.compare(found.name, "call", found.calls, wanted.calls, title)
        }
        for (index, (call, other)) in zip(found.calls, wanted.calls).enumerated() {
            let name = "\(found.name) \(call.label)"
            guard title(call) == title(other) else {
                finding.compare(name, "call \(index)", title(call), title(other))
                continue
            }
            let what = "call \(index), \(call.operation.name):"
            let (attributes, others) = (call.operation.attributes, other.operation.attributes)
            for attribute in Set(attributes.values.keys).union(others.values.keys).sorted() {
                finding.compare(
                    name, "\(what) \(attribute)", words(attributes[attribute]), words(others[attribute]))
            }
            for (side, operands, others) in [
                ("input", call.inputs, other.inputs), ("output", call.outputs, other.outputs),
            ] {
                finding.compare(
                    name, "\(what) \(side)", operands.map { words($0, foundWeights) },
                    others.map { words($0, wantedWeights) }
                ) { $0 }
            }
        }
    }

    private func words(_ attribute: AttributeValue?) -> String {
        switch attribute {
        case .integer(let integer)?: "\(integer)"
        // Its description tells every bit pattern from the others but those of NaN.
        case .number(let number)?: number.isNaN ? "nan \(number.bitPattern)" : "\(number)"
        case .word(let word)?: "\"\(word)\""
        case .flag(let flag)?: "\(flag)"
        case .integers(let integers)?: "\(integers)"
        case .dimensions(let dimensions)?: "[\(dimensions.map(\.description).joined(separator: ", "))]"
        case nil: "missing"
        }
    }

    /// e.g. `weight 3 "a.weight", F32[4,4]` or `F32[2,8] at byte 64 of the arena`
    private func words(_ operand: Operand, _ weights: [String]) -> String {
        let type = "\(operand.elementType.rawValue)\(operand.shape)"
        let isPlain = operand.layout.offset == 0 && operand.layout.strides == operand.shape.strides
        let layout = isPlain ? "" : " from element \(operand.layout.offset) by strides \(operand.layout.strides)"
        switch operand.storage {
        case .input(let index): return "input \(index), \(type)\(layout)"
        case .state(let index): return "state \(index), \(type)\(layout)"
        case .arena(let offset): return "\(type)\(layout) at byte \(offset) of the arena"
        case .weight(let index):
            let name = weights.indices.contains(index) ? "\"\(weights[index])\"" : "that does not exist"
            return "weight \(index) \(name), \(type)\(layout)"
        }
    }
}
