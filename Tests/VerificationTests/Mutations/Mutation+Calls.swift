import ByteIO
import Programs
import Tensors
import TestSupport

@testable import Packages

extension Mutation {
    func applyToCall(_ package: inout DecodedPackage, _ generator: inout SeededGenerator) -> String? {
        guard let function = package.functions.indices.randomElement(using: &generator),
            let index = package.functions[function].calls.indices.randomElement(using: &generator)
        else { return nil }
        var call = package.functions[function].calls[index]
        let title = "\(call.operation.name) \(call.label)"
        switch self {
        case .callDropped: package.functions[function].calls.remove(at: index)
        case .callRepeated: package.functions[function].calls.insert(call, at: index)
        case .callOrder:
            guard index + 1 < package.functions[function].calls.count else { return nil }
            package.functions[function].calls.swapAt(index, index + 1)
        case .callLabel:
            call.label = Mutation.digit(of: call.label)
            package.functions[function].calls[index] = call
        case .operatorKind:
            // Another operator that takes these attributes.
            let names = Operators.all.map { $0.name }.filter { $0 != call.operation.name }.shuffled(using: &generator)
            let other = names.lazy.compactMap { try? Operators.make($0, call.operation.attributes) }
                .first { $0.attributes == call.operation.attributes }
            guard let other else { return nil }
            call.operation = other
            package.functions[function].calls[index] = call
            return "\(title) becomes \(other.name)"
        default:
            var attributes = call.operation.attributes
            guard let name = attributes.values.keys.sorted().randomElement(using: &generator),
                let value = attributes[name]
            else { return nil }
            attributes[name] = Self.changed(value, &generator)
            // The decoder would refuse what the operator does not take.
            guard let other = try? Operators.make(call.operation.name, attributes),
                other.attributes != call.operation.attributes
            else { return nil }
            call.operation = other
            package.functions[function].calls[index] = call
            return "\(title): \(name)"
        }
        return title
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

    func applyToOperand(_ package: inout DecodedPackage, _ generator: inout SeededGenerator) -> String? {
        guard let function = package.functions.indices.randomElement(using: &generator) else { return nil }
        let (calls, outputs) = (package.functions[function].calls, package.functions[function].outputs)
        let place = Int.random(in: 0..<calls.count + outputs.count, using: &generator)
        guard place < calls.count else {
            let output = place - calls.count
            var operand = outputs[output].operand
            guard change(&operand, &generator), operand != outputs[output].operand else { return nil }
            package.functions[function].outputs[output].operand = operand
            return "output \(outputs[output].name)"
        }
        let call = calls[place]
        let index = Int.random(in: 0..<call.inputs.count + call.outputs.count, using: &generator)
        let isInput = index < call.inputs.count
        let before = isInput ? call.inputs[index] : call.outputs[index - call.inputs.count]
        var operand = before
        guard change(&operand, &generator), operand != before else { return nil }
        if isInput {
            package.functions[function].calls[place].inputs[index] = operand
        } else {
            package.functions[function].calls[place].outputs[index - call.inputs.count] = operand
        }
        return "\(call.operation.name) \(call.label), operand \(index)"
    }

    private func change(_ operand: inout Operand, _ generator: inout SeededGenerator) -> Bool {
        let isOdd = Bool.random(using: &generator)
        switch self {
        case .operandStorage:
            operand.storage =
                switch operand.storage {
                case .input(let index): isOdd ? .input(index + 1) : .weight(index)
                case .weight(let index): .weight(isOdd ? index + 1 : max(0, index - 1))
                case .arena(let offset): isOdd ? .input(0) : .arena(offset + 64)
                case .state(let index): isOdd ? .state(index + 1) : .arena(0)
                }
        case .operandOffset:
            if isOdd, case .arena(let offset) = operand.storage {
                operand.storage = .arena(max(0, offset - 64))
            } else {
                operand.layout.offset += 1
            }
        case .operandType: operand.elementType = operand.elementType == .float32 ? .int64 : .float32
        case .operandShape:
            Mutation.change(&operand.layout.shape, &generator)
            operand.layout.strides = operand.layout.shape.strides
        default:
            guard let axis = operand.layout.strides.indices.randomElement(using: &generator) else { return false }
            if isOdd {
                operand.layout.strides[axis] += 1
            } else {
                operand.layout.strides.swapAt(axis, (axis + 1) % operand.layout.strides.count)
            }
        }
        return true
    }

    func applyToWeight(_ package: inout DecodedPackage, _ generator: inout SeededGenerator) -> String? {
        guard let index = package.weights.indices.randomElement(using: &generator) else { return nil }
        let name = package.weights[index].name
        switch self {
        case .weightName: package.weights[index].name = Mutation.digit(of: name)
        case .weightType:
            let types: [ElementType] = [.float32, .float16, .bfloat16, .int64]
            package.weights[index].elementType = types.randomElement(using: &generator) ?? .float32
        case .weightShape: Mutation.change(&package.weights[index].shape, &generator)
        case .weightCodec:
            let others = Set(package.weights.map(\.codec) + ["stored", "float16", "int8", "palette:bits=4,group=8"])
            package.weights[index].codec = others.sorted().randomElement(using: &generator) ?? ""
        case .weightSections:
            guard let place = package.weights[index].sections.indices.randomElement(using: &generator) else {
                return nil
            }
            let other = package.sections.indices.randomElement(using: &generator) ?? 0
            guard package.weights[index].sections[place] != other else { return nil }
            package.weights[index].sections[place] = other
        default:
            guard let section = package.sections.indices.randomElement(using: &generator) else { return nil }
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: package.sections[section].offset += 64
            case 1: package.sections[section].byteCount += 1
            default: package.sections[section].digest = SHA256.digest(of: ByteView([UInt8(1)]))
            }
            return "section \(section)"
        }
        return name
    }
}
