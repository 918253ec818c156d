import AccelPrograms

extension ChannelsRule {
    static let shapes: [ChannelsRule] = [
        ChannelsRule([Transpose.name]) { call, _ in
            guard let transpose = call.operation as? Transpose, let x = call.inputs[0].channels else { return nil }
            return .channels(
                ChannelsValue(
                    operand: x.operand, layout: x.layout.transposed(transpose.permutation), sizes: call.result))
        },
        ChannelsRule([Reshape.name]) { call, lowering in
            if let x = call.inputs[0].channels {
                guard let layout = x.layout.reshaped(from: call.sizes[0], to: call.result) else { return nil }
                return .channels(ChannelsValue(operand: x.operand, layout: layout, sizes: call.result))
            }
            // Flattens a feature map [batch, channels, height, width] into a sequence, like the patches of a vision transformer.
            let own = call.sizes[0]
            guard own.count == 4, own[2] * own[3] > 1, call.result == [own[0], own[1], own[2] * own[3]],
                case .operand(let x) = call.inputs[0], x.type.dataType == lowering.builder.floatType
            else { return nil }
            let layout = ChannelsLayout(batch: [0], channels: [1], positions: [2]).reduced(to: call.result)
            let operand = lowering.builder.reshaped(x, layout.sizes(call.result))
            return .channels(ChannelsValue(operand: operand, layout: layout, sizes: call.result))
        },
        ChannelsRule([Slice.name]) { call, lowering in
            guard let slice = call.operation as? Slice, let x = call.inputs[0].channels else { return nil }
            let begins = slice.begin.compactMap(\.value)
            var (begin, size) = ([0, 0, 0, 0], x.operand.sizes)
            for axis in call.result.indices where call.result[axis] != x.sizes[axis] {
                guard let (tensorAxis, inner) = x.tensorAxis(of: axis), begin[tensorAxis] == 0 else { return nil }
                begin[tensorAxis] = begins[axis] * inner
                size[tensorAxis] = call.result[axis] * inner
            }
            let layout = x.layout.reduced(to: call.result)
            guard size == layout.sizes(call.result) else { return nil }
            let operand = lowering.builder.step(
                "slice_by_size",
                ["x": .operand(x.operand), "begin": .value(MILValue(begin)), "size": .value(MILValue(size))], size)
            return .channels(ChannelsValue(operand: operand, layout: layout, sizes: call.result))
        },
        ChannelsRule([Concat.name]) { call, lowering in
            guard let concat = call.operation as? Concat else { return nil }
            let known = call.inputs.compactMap(\.channels).first { $0.layout.axes.contains(concat.axis) }
            guard let known, let (tensorAxis, _) = known.tensorAxis(of: concat.axis) else { return nil }
            var operands: [MILOperand] = []
            for (index, input) in call.inputs.enumerated() {
                let own = call.sizes[index]
                operands.append(
                    try lowering.laidOut(input, own, known.layout.reduced(to: own), as: lowering.builder.floatType))
            }
            let operand = lowering.builder.joined(operands, axis: tensorAxis)
            return .channels(ChannelsValue(operand: operand, layout: known.layout, sizes: call.result))
        },
    ]
}

extension ChannelsValue {
    /// Returns the tensor axis whose outermost part is `axis`, and the stride of `axis` along it; nil if another axis is
    /// further outside.
    fileprivate func tensorAxis(of axis: Int) -> (tensorAxis: Int, inner: Int)? {
        let axes = [layout.batch, layout.channels, [], layout.positions]
        guard let tensorAxis = axes.firstIndex(where: { $0.first == axis }) else { return nil }
        return (tensorAxis, axes[tensorAxis].dropFirst().reduce(1) { $0 * sizes[$1] })
    }
}
