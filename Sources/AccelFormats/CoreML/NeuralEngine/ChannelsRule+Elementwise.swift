import AccelPrograms

extension ChannelsRule {
    /// Elementwise operators; they have the same operations as in the plain layout.
    static let elementwise: [ChannelsRule] = [
        ChannelsRule(
            [
                Add.name, Subtract.name, Multiply.name, Divide.name, Maximum.name, Minimum.name, Power.name, Erf.name,
                Exp.name, Sin.name, Cos.name, Sqrt.name, Tanh.name, Sigmoid.name, Relu.name, Silu.name, Copy.name,
                Log.name, Rsqrt.name, Negate.name, LeakyRelu.name, Elu.name, Gelu.name, Select.name,
            ]
        ) { call, lowering in
            guard let emit = Lowerings.byName[call.operation.name]?.emit else { return nil }
            if let pieces = try piecewise(call, &lowering, emit) { return pieces }
            guard let layout = call.leading else { return nil }
            var operands: [MILOperand] = []
            for (index, input) in call.inputs.enumerated() {
                let own = call.aligned(index)
                let isFlag = call.operation is Select && index == 0
                let type = isFlag ? .bool : lowering.builder.floatType
                if own.allSatisfy({ $0 == 1 }), input.channels == nil {
                    operands.append(try scalar(input, type, &lowering))
                    continue
                }
                guard let layout = layout.broadcasting(own) else { return nil }
                operands.append(try lowering.laidOut(input, own, layout, as: type))
            }
            lowering.builder.resultSizes = layout.sizes(call.result)
            lowering.builder.resultType = call.resultType
            let operand = try emit(call.operation, operands, &lowering.builder)
            return .channels(ChannelsValue(operand: operand, layout: layout, sizes: call.result))
        }
    ]

    private static func scalar(
        _ input: LoweredValue, _ type: MILDataType, _ lowering: inout FunctionLowering
    ) throws -> MILOperand {
        let label = lowering.builder.label
        defer { lowering.builder.label = label }
        let plain = try lowering.operand(input, as: type, label)
        return plain.type.rank == 0 ? plain : lowering.builder.reshaped(plain, [1, 1, 1, 1])
    }

    /// Applies an operator to parts of the last axis, if all other inputs are scalars.
    private static func piecewise(
        _ call: ChannelsCall, _ lowering: inout FunctionLowering,
        _ emit: (any Operator, [MILOperand], inout MILBuilder) throws -> MILOperand
    ) throws -> LoweredValue? {
        guard
            let varying = call.inputs.firstIndex(where: { if case .pieces = $0 { true } else { false } }),
            case .pieces(let pieces) = call.inputs[varying],
            call.sizes.indices.allSatisfy({ $0 == varying || call.sizes[$0].allSatisfy { $0 == 1 } })
        else { return nil }
        return .pieces(
            try pieces.map { piece in
                var operands: [MILOperand] = []
                for (index, input) in call.inputs.enumerated() {
                    operands.append(
                        index == varying ? piece.operand : try scalar(input, lowering.builder.floatType, &lowering))
                }
                lowering.builder.resultSizes = piece.operand.sizes
                lowering.builder.resultType = call.resultType
                let operand = try emit(call.operation, operands, &lowering.builder)
                return ChannelsValue(operand: operand, layout: piece.layout, sizes: piece.sizes)
            })
    }
}
