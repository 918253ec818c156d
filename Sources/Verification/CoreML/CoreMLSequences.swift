import ByteIO
import Exporters
import Programs
import Runtime
import Tensors

extension CoreMLPackage {
    /// How the functions are fed with the tokens of a decoder's golden.
    /// - Parameter functions: what each of the package's functions computes, in their order.
    /// - Throws: `RequestError` when no function takes the golden's blocks.
    func decoding(of functions: [FrozenProgram], golden: Golden) throws -> [[GoldenDecoding.Block]] {
        let outlines = try functions.map { try $0.outline() }
        return try GoldenDecoding(CompressedProgram(functions: outlines, weights: []).compiled(), golden: golden)
            .sequences
    }
}

extension FrozenProgram {
    /// A function of the same inputs, outputs and states that computes nothing: which states it writes to, and whether at
    /// a place that an input says, is all that there is to know of it before it is fed. Caches are
    /// [batch, heads, places, width], as accelc's decoders have them.
    fileprivate func outline() throws -> FrozenProgram {
        let made = program.outputs.map(\.value) + program.states.map(\.value)
        try MachineMemory.require(
            MachineMemory.sum(made.map { program.type(of: $0).hostBytes }), for: "what \(program.name) gives")
        var builder = ProgramBuilder(name: program.name)
        func zeros(_ type: TensorType, _ name: String, _ builder: inout ProgramBuilder) -> Value {
            let (shape, count) = (type.shape ?? [], type.shape?.count ?? 0)
            let tensor =
                type.elementType.isFloatingPoint
                ? HostTensor([Float](repeating: 0, count: count), shape)
                : HostTensor([Int64](repeating: 0, count: count), shape)
            return builder.literal(tensor, name: name)
        }
        var place: Value?
        for input in program.inputs {
            let type = program.type(of: input.value)
            let value = builder.input(input.name, type)
            if type.elementType == .int64, type.shape?.count == 1, type.rank == 1 { place = value }
        }
        for state in program.states {
            let type = program.type(of: state.value)
            let value = builder.state(state.name, type)
            guard state.next != state.value else { continue }
            guard let place, type.rank == 4 else {
                builder.update(state.name, to: try builder.apply(Copy(), [zeros(type, state.name, &builder)]))
                continue
            }
            var block = type
            block.dimensions[2] = 1
            let row = zeros(block, state.name, &builder)
            builder.update(state.name, to: try builder.apply(UpdateSlice(axis: 2), [value, row, place]))
        }
        for output in program.outputs {
            let value = zeros(program.type(of: output.value), output.name, &builder)
            builder.output(output.name, try builder.apply(Copy(), [value]))
        }
        return try builder.finish().freezing(ShapeBindings())
    }
}
