import AccelPrograms

extension ChannelsRule {
    /// Attention head by head, with scores (B, keys, 1, queries) that are normalised over the keys.
    @Sendable static func attention(
        _ call: ChannelsCall, _ lowering: inout FunctionLowering
    ) throws -> LoweredValue? {
        guard let attention = call.operation as? Attention, let q = call.sizes.first else { return nil }
        let (k, v) = (call.sizes[1], call.sizes[2])
        let byHeads = ChannelsLayout(batch: [0], channels: [1, 3], positions: [2])
        let type = lowering.builder.floatType
        let label = lowering.builder.label
        let queries = try lowering.laidOut(call.inputs[0], q, byHeads.reduced(to: q), as: type)
        let keys = try columns(of: call.inputs[1], k, byHeads, &lowering)
        let values = try lowering.laidOut(call.inputs[2], v, byHeads.reduced(to: v), as: type)
        let mask = try call.inputs.dropFirst(3).first.map { try self.mask($0, call.sizes[3], &lowering) }
        lowering.builder.label = label
        let scaled =
            attention.scale == 1
            ? queries
            : lowering.builder.step(
                "mul", ["x": .operand(queries), "y": lowering.builder.number(attention.scale)], queries.sizes)
        let queryHeads = lowering.builder.split(scaled, into: q[1], axis: 1)
        let keyHeads = lowering.builder.split(keys, into: k[1], axis: 3)
        let valueHeads = lowering.builder.split(values, into: k[1], axis: 1)
        let masks = mask.map { lowering.builder.split($0, into: $0.sizes[2], axis: 2) }
        var mixed: [MILOperand] = []
        for head in 0..<q[1] {
            let group = head / (q[1] / k[1])
            let sizes = [q[0], k[2], 1, q[2]]
            var scores = product("bkhc,bchq->bkhq", keyHeads[group], queryHeads[head], sizes, &lowering.builder)
            if let masks {
                scores = lowering.builder.step(
                    "add", ["x": .operand(scores), "y": .operand(masks.count == 1 ? masks[0] : masks[head])], sizes)
            }
            let weights = lowering.builder.step("softmax", ["x": .operand(scores), "axis": 1], sizes)
            mixed.append(
                product("bchk,bkhq->bchq", valueHeads[group], weights, [q[0], v[3], 1, q[2]], &lowering.builder))
        }
        let operand = lowering.builder.joined(mixed, axis: 1)
        return .channels(
            ChannelsValue(operand: operand, layout: byHeads.reduced(to: call.result), sizes: call.result))
    }

    private static func product(
        _ equation: String, _ left: MILOperand, _ right: MILOperand, _ sizes: [Int], _ builder: inout MILBuilder
    ) -> MILOperand {
        builder.step(
            "einsum", ["values": .operands([left, right]), "equation": .value(MILValue(equation))], sizes)
    }

    /// Converts keys [batch, heads, length, width] to (B, length, 1, heads * width).
    private static func columns(
        of input: LoweredValue, _ own: [Int], _ byHeads: ChannelsLayout, _ lowering: inout FunctionLowering
    ) throws -> MILOperand {
        let label = lowering.builder.label
        defer { lowering.builder.label = label }
        if input.channels != nil {
            let permuted = try lowering.laidOut(input, own, byHeads.reduced(to: own), as: lowering.builder.floatType)
            return lowering.builder.transposed(permuted, [0, 3, 2, 1])
        }
        let plain = try lowering.operand(input, as: lowering.builder.floatType, label)
        lowering.builder.label = "\(plain.name)_columns"
        return lowering.builder.reshaped(
            lowering.builder.transposed(plain, [0, 2, 1, 3]), [own[0], own[2], 1, own[1] * own[3]])
    }

    /// Converts a mask that broadcasts to [batch, heads, queries, keys] to (B, keys, heads, queries).
    private static func mask(
        _ input: LoweredValue, _ own: [Int], _ lowering: inout FunctionLowering
    ) throws -> MILOperand {
        let plain = try lowering.operand(input, as: lowering.builder.floatType, lowering.builder.label)
        let key = FunctionLowering.Converted(name: "\(plain.name) as a mask", type: plain.type.dataType)
        if let known = lowering.converted[key] { return known }
        lowering.builder.label = "\(plain.name)_columns"
        let aligned = [Int](repeating: 1, count: 4 - own.count) + own
        let result = lowering.builder.transposed(lowering.builder.reshaped(plain, aligned), [0, 3, 1, 2])
        lowering.converted[key] = result
        return result
    }
}
