import AccelCPURuntime
import AccelPrograms
import AccelTensors

extension FrozenProgram {
    /// Returns a plan with the function's interface and without calls. Ports and roles are all that feeding it needs.
    func outline(part: String) -> FunctionPlan {
        func port(_ name: String, _ value: Value) -> FrozenProgram.Port {
            .init(name: name, elementType: program.type(of: value).elementType, shape: shape(of: value))
        }
        return FunctionPlan(
            name: program.name, part: part, bindings: bindings, inputs: program.inputs.map { port($0.name, $0.value) },
            outputs: program.outputs.map { output in
                let made = port(output.name, output.value)
                return .init(
                    name: made.name,
                    operand: Operand(
                        storage: .arena(0), elementType: made.elementType, layout: StridedLayout(shape: made.shape)))
            },
            states: program.states.map { state in
                let port = port(state.name, state.value)
                return .init(
                    name: port.name, elementType: port.elementType, shape: port.shape, initial: state.initial)
            }, arenaBytes: 0, calls: [], interface: program.interface)
    }
}

extension ModelPlan {
    /// Creates a plan of the interfaces of functions, without calls.
    /// - Parameter parts: the part that each function computes; nil for the functions' own names.
    init(outlining functions: [FrozenProgram], parts: [String]? = nil) {
        self.init(
            of: ModelGraph(functions: functions, tensors: []),
            functions: functions.indices.map { index in
                functions[index].outline(part: parts?[index] ?? functions[index].program.name)
            })
    }
}

extension [Program] {
    /// Returns the function of a name such as `model[batch=1,sequence=128]`, as exports record it; nil if there is none.
    func frozen(named name: some StringProtocol) -> FrozenProgram? {
        let words = name.split(separator: "[")
        guard let part = words.first.map({ String($0) }), let program = first(where: { $0.name == part }) else {
            return nil
        }
        let numbers = (words.dropFirst().first ?? "").dropLast().split(separator: ",").map { $0.split(separator: "=") }
        let bindings = numbers.reduce(into: [String: Int]()) { bindings, pair in
            if pair.count == 2 { bindings[String(pair[0])] = Int(pair[1]) }
        }
        return try? program.freezing(ShapeBindings(bindings))
    }
}
