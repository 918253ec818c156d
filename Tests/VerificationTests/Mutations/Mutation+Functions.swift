import AccelByteIO
import AccelPrograms
import AccelTensors
import TestSupport

@testable import AccelPackages

extension DecodedPackage {
    mutating func change(_ function: Int, _ change: (Program) -> Program) {
        let frozen = functions[function]
        functions[function] = FrozenProgram(frozen: change(frozen.program), bindings: frozen.bindings)
    }
}

extension Mutation {
    func applyToFunction(_ package: inout DecodedPackage, _ generator: inout SeededGenerator) -> String? {
        guard let index = package.functions.indices.randomElement(using: &generator) else { return nil }
        let function = package.functions[index]
        let (program, other) = (function.program, (index + 1) % package.functions.count)
        let isOdd = Bool.random(using: &generator)
        switch self {
        case .functionNames:
            guard other != index else { return nil }
            let twin = package.functions[other]
            package.functions[index] = FrozenProgram(
                frozen: program.with(name: twin.program.name), bindings: twin.bindings)
            package.functions[other] = FrozenProgram(
                frozen: twin.program.with(name: program.name), bindings: function.bindings)
        case .functionPart:
            let others = Set(package.functions.map(\.program.name)).subtracting([program.name]).sorted()
            let name = isOdd ? others.randomElement(using: &generator) ?? "other" : program.name + "x"
            package.change(index) { $0.with(name: name) }
        case .functionBinding:
            guard let name = function.bindings.numbers.keys.sorted().randomElement(using: &generator) else {
                return nil
            }
            var numbers = function.bindings.numbers
            if isOdd {
                numbers[name, default: 0] += 1
            } else {
                numbers[name + "x"] = numbers.removeValue(forKey: name)
            }
            package.functions[index] = FrozenProgram(frozen: program, bindings: ShapeBindings(numbers))
        case .functionOrder:
            guard other != index else { return nil }
            package.functions.swapAt(index, other)
        case .functionDropped: package.functions.remove(at: index)
        case .inputPort:
            guard let place = program.inputs.indices.randomElement(using: &generator) else { return nil }
            var (inputs, input) = (program.inputs, program.inputs[place])
            guard isOdd else {
                package.change(index) { Self.changingType(of: input.value, in: $0, &generator) }
                break
            }
            var interface = program.interface
            let role = interface.inputs.removeValue(forKey: input.name)
            input = .init(name: Mutation.digit(of: input.name), value: input.value)
            interface.inputs[input.name] = role
            inputs[place] = input
            package.change(index) { $0.with(inputs: inputs, interface: interface) }
        case .output:
            guard let place = program.outputs.indices.randomElement(using: &generator) else { return nil }
            var outputs = program.outputs
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: outputs.remove(at: place)
            case 1: outputs[place] = .init(name: outputs[place].name + "x", value: outputs[place].value)
            default: outputs.swapAt(place, (place + 1) % outputs.count)
            }
            package.change(index) { $0.with(outputs: outputs) }
        case .outputValue:
            guard let place = program.outputs.indices.randomElement(using: &generator),
                let value = program.types.indices.randomElement(using: &generator)
            else { return nil }
            var outputs = program.outputs
            outputs[place] = .init(name: outputs[place].name, value: Value(id: value))
            package.change(index) { $0.with(outputs: outputs) }
        case .interface:
            var interface = program.interface
            guard let change = Mutation.change(&interface, &generator) else { return nil }
            package.change(index) { $0.with(interface: interface) }
            return "\(function.functionName) \(change)"
        default: return applyToState(&package, index, &generator)
        }
        return function.functionName
    }

    private func applyToState(
        _ package: inout DecodedPackage, _ function: Int, _ generator: inout SeededGenerator
    ) -> String? {
        let program = package.functions[function].program
        guard let place = program.states.indices.randomElement(using: &generator) else { return nil }
        let state = program.states[place]
        var states = program.states
        switch self {
        case .initialValue:
            let initial = ([5, -0.0, 1, 1e-3] as [Double]).randomElement(using: &generator) ?? 5
            // Functions that share a state have to agree.
            for other in package.functions.indices {
                package.change(other) { program in
                    program.with(
                        states: program.states.map {
                            $0.name == state.name
                                ? .init(name: $0.name, value: $0.value, next: $0.next, initial: initial) : $0
                        })
                }
            }
            return "state \(state.name) starts as \(initial)"
        case .update:
            let same = program.types.indices.filter { program.types[$0] == program.type(of: state.value) }
            guard let next = same.randomElement(using: &generator), next != state.next.id else { return nil }
            states[place] = .init(name: state.name, value: state.value, next: Value(id: next), initial: state.initial)
        default:
            guard Bool.random(using: &generator) else {
                package.change(function) { Self.changingType(of: state.value, in: $0, &generator) }
                return "type of state \(state.name)"
            }
            let name = Mutation.digit(of: state.name)
            states[place] = .init(name: name, value: state.value, next: state.next, initial: state.initial)
            var interface = program.interface
            let role = interface.states.removeValue(forKey: state.name)
            interface.states[name] = role
            package.change(function) { $0.with(interface: interface) }
        }
        package.change(function) { $0.with(states: states) }
        return "state \(state.name)"
    }

    private static func changingType(
        of value: Value, in program: Program, _ generator: inout SeededGenerator
    ) -> Program {
        var types = program.types
        let type = types[value.id]
        if Bool.random(using: &generator) {
            types[value.id].elementType = type.elementType == .float32 ? .int64 : .float32
        } else {
            var shape = type.shape ?? []
            change(&shape, &generator)
            types[value.id] = TensorType(type.elementType, shape: shape)
        }
        return program.with(types: types)
    }
}
