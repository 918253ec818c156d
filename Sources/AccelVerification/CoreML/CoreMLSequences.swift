import AccelByteIO
import AccelCPURuntime
import AccelFormats
import AccelPrograms
import AccelTensors

extension CoreMLPackage {
    /// Returns the blocks in which the functions process the tokens of a decoder's golden.
    /// - Parameter functions: the programs of the package's functions, in their order.
    /// - Throws: `RequestError` when no function takes the golden's blocks.
    func decoding(of functions: [FrozenProgram], golden: Golden) throws -> [[GoldenDecoding.Block]] {
        let outlines = try functions.map { function in
            function.outline(part: try part(of: function.program.name) ?? function.program.name)
        }
        let program = ModelPlan(of: ModelGraph(functions: functions, tensors: []), functions: outlines)
        return try GoldenDecoding(program, golden: golden).sequences
    }
}

extension FrozenProgram {
    /// Returns a plan with the function's interface and without calls. Ports and roles are all that feeding it needs.
    fileprivate func outline(part: String) -> FunctionPlan {
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
