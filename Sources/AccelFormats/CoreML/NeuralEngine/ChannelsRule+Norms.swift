import AccelPrograms

extension ChannelsRule {
    static let norms: [ChannelsRule] = [
        ChannelsRule([LayerNorm.name]) { call, lowering in
            guard let norm = call.operation as? LayerNorm, call.inputs.dropFirst().allSatisfy({ $0.constant != nil })
            else { return nil }
            return try normalized(call, &lowering) { x, axis, lowering in
                let label = lowering.builder.label
                let gamma = try lowering.operand(call.inputs[1], as: lowering.builder.floatType, label)
                let beta = try call.inputs.dropFirst(2).first.map {
                    try lowering.operand($0, as: lowering.builder.floatType, label)
                }
                lowering.builder.label = label
                return lowering.builder.step(
                    "layer_norm",
                    [
                        "x": .operand(x), "axes": .value(MILValue([axis])), "gamma": .operand(gamma),
                        "beta": .optional(beta), "epsilon": lowering.builder.number(norm.epsilon),
                    ], x.sizes)
            }
        },
        // The mean of x and -x together is zero, and their variance is the mean of squares. So RMSNorm is a layer norm over
        // both, whose sums do not overflow.
        ChannelsRule([RMSNorm.name]) { call, lowering in
            guard let norm = call.operation as? RMSNorm, let width = call.result.last,
                2 * width <= lowering.options.longestAxis
            else {
                return nil
            }
            return try normalized(call, &lowering) { x, axis, lowering in
                var both = x.sizes
                both[axis] *= 2
                let gain = try lowering.parameters(call.inputs[1], axis: axis)
                let minus = lowering.builder.step(
                    "mul", ["x": .operand(x), "y": lowering.builder.number(-1)], x.sizes)
                let pair = lowering.builder.joined([x, minus], axis: axis)
                let normal = lowering.builder.step(
                    "layer_norm",
                    [
                        "x": .operand(pair), "axes": .value(MILValue([axis])),
                        "epsilon": lowering.builder.number(norm.epsilon),
                    ], both)
                let half = lowering.builder.step(
                    "slice_by_size",
                    [
                        "x": .operand(normal), "begin": .value(MILValue([0, 0, 0, 0])),
                        "size": .value(MILValue(x.sizes)),
                    ], x.sizes)
                return lowering.builder.step("mul", ["x": .operand(half), "y": .operand(gain)], x.sizes)
            }
        },
        ChannelsRule([Rope.name]) { call, lowering in
            guard let x = call.inputs[0].channels, let heads = x.heads, let half = call.sizes[1].last else {
                return nil
            }
            let layout = ChannelsLayout(
                batch: x.layout.batch, channels: [call.result.count - 1], positions: x.layout.positions)
            var turns: [MILOperand] = []
            for index in 1...2 {
                guard let own = layout.broadcasting(call.aligned(index)) else { return nil }
                let table = try lowering.laidOut(
                    call.inputs[index], call.aligned(index), own, as: lowering.builder.floatType)
                let four = own.sizes(call.aligned(index))
                turns.append(lowering.builder.reshaped(table, [four[0], 1, half, four[3]]))
            }
            let operand = rotated(lowering.builder.reshaped(x.operand, heads), turns, half, &lowering.builder)
            return .channels(
                ChannelsValue(
                    operand: lowering.builder.reshaped(operand, x.operand.sizes), layout: x.layout,
                    sizes: call.result))
        },
    ]

    /// Normalises over the last axis: over all channels, or over the channels of each head in a tensor (B, heads, C, S).
    private static func normalized(
        _ call: ChannelsCall, _ lowering: inout FunctionLowering,
        _ body: (MILOperand, Int, inout FunctionLowering) throws -> MILOperand
    ) throws -> LoweredValue? {
        var x = try lowering.channelsLast(call, 0)
        if let own = call.inputs[0].channels, own.heads != nil { x = own }
        guard x.layout.channels.count != 1, let heads = x.heads else {
            return .channels(
                ChannelsValue(operand: try body(x.operand, 1, &lowering), layout: x.layout, sizes: call.result))
        }
        let apart = try body(lowering.builder.reshaped(x.operand, heads), 2, &lowering)
        return .channels(
            ChannelsValue(
                operand: lowering.builder.reshaped(apart, x.operand.sizes), layout: x.layout, sizes: call.result))
    }

    /// Applies the rotary embedding to `x` (B, heads, C, S): rotates its pairs by the angles `turns` (B, 1, pairs, S).
    private static func rotated(
        _ x: MILOperand, _ turns: [MILOperand], _ half: Int, _ builder: inout MILBuilder
    ) -> MILOperand {
        func channels(from first: Int, _ count: Int) -> MILOperand {
            let size = [x.sizes[0], x.sizes[1], count, x.sizes[3]]
            return builder.step(
                "slice_by_size",
                [
                    "x": .operand(x), "begin": .value(MILValue([0, 0, first, 0])), "size": .value(MILValue(size)),
                ], size)
        }
        func step(_ type: String, _ left: MILOperand, _ right: MILOperand) -> MILOperand {
            builder.step(type, ["x": .operand(left), "y": .operand(right)], left.sizes)
        }
        let (a, b) = (channels(from: 0, half), channels(from: half, half))
        let (cos, sin) = (turns[0], turns[1])
        var parts = [step("sub", step("mul", a, cos), step("mul", b, sin))]
        parts.append(step("add", step("mul", b, cos), step("mul", a, sin)))
        let rest = x.sizes[2] - 2 * half
        if rest > 0 { parts.append(channels(from: 2 * half, rest)) }
        return builder.joined(parts, axis: 2)
    }
}

extension ChannelsValue {
    /// The shape (B, heads, C, S) of the tensor with the value's last axis as C; nil if that axis is not the innermost of the
    /// channels.
    fileprivate var heads: [Int]? {
        let last = sizes.count - 1
        guard last >= 0, sizes[last] == 1 || layout.channels.last == last else { return nil }
        let four = operand.sizes
        return [four[0], four[1] / max(sizes[last], 1), sizes[last], four[3]]
    }
}
