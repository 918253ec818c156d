import AccelPrograms
import AccelTensors

extension ChannelsRule {
    static let products: [ChannelsRule] = [
        ChannelsRule([Linear.name], linear),
        ChannelsRule([Conv.name], convolution),
        ChannelsRule([Attention.name], attention),
        ChannelsRule([Gather.name], rows),
    ]

    /// A linear operator as a 1x1 convolution; several if the result has more channels than the limit of an axis.
    @Sendable private static func linear(
        _ call: ChannelsCall, _ lowering: inout FunctionLowering
    ) throws -> LoweredValue? {
        guard let linear = call.operation as? Linear, linear.activation == .none,
            let weight = call.inputs[1].constant, call.sizes[1][1] > 1 || call.result.count > 1
        else { return nil }
        let bias = call.inputs.dropFirst(2).first?.constant
        guard call.inputs.count == 2 || bias != nil else { return nil }
        let x = try lowering.channelsLast(call, 0)
        let (outputs, columns) = (call.sizes[1][0], call.sizes[1][1])
        var layout = x.layout
        layout.channels = outputs == 1 ? [] : [call.result.count - 1]
        var parts: [ChannelsValue] = []
        let label = lowering.builder.label
        for rows in lowering.weights.parts(of: weight, rows: outputs, atMost: lowering.options.longestAxis) {
            let whole = rows == 0..<outputs ? nil : rows
            let view = ConstantView(sizes: [rows.count, columns, 1, 1], rows: whole)
            let kernel = try lowering.weights.lowered(
                weight, as: lowering.builder.floatType, view, in: &lowering.builder)
            let offsets = try bias.map {
                let view = whole.map { ConstantView(sizes: [$0.count], rows: $0) }
                return try lowering.weights.lowered($0, as: lowering.builder.floatType, view, in: &lowering.builder)
            }
            var sizes = call.result
            sizes[sizes.count - 1] = rows.count
            lowering.builder.label = label
            let operand = convolved(
                x.operand, kernel, offsets, Window(axes: 2), groups: 1, layout.sizes(sizes), &lowering.builder)
            parts.append(ChannelsValue(operand: operand, layout: layout, sizes: sizes))
        }
        return parts.count == 1 ? .channels(parts[0]) : .pieces(parts)
    }

    private static func convolved(
        _ x: MILOperand, _ weight: MILOperand, _ bias: MILOperand?, _ window: Window, groups: Int, _ sizes: [Int],
        _ builder: inout MILBuilder
    ) -> MILOperand {
        let pad = zip(window.before, window.after).flatMap { [$0, $1] }
        return builder.step(
            "conv",
            [
                "x": .operand(x), "weight": .operand(weight), "bias": .optional(bias),
                "strides": .value(MILValue(window.strides)), "pad_type": "custom", "pad": .value(MILValue(pad)),
                "dilations": .value(MILValue(window.dilations)), "groups": .value(MILValue(groups)),
            ], sizes)
    }

    /// A convolution along one axis, as a convolution of two axes whose first has size 1.
    @Sendable private static func convolution(
        _ call: ChannelsCall, _ lowering: inout FunctionLowering
    ) throws -> LoweredValue? {
        guard let conv = call.operation as? Conv, conv.window.axes == 1, let weight = call.inputs[1].constant,
            call.inputs.count == 2 || call.inputs[2].constant != nil
        else { return nil }
        let layout = ChannelsLayout(batch: [0], channels: [1], positions: [2])
        let own = call.sizes[0]
        let x = try lowering.laidOut(call.inputs[0], own, layout.reduced(to: own), as: lowering.builder.floatType)
        let label = lowering.builder.label
        let taps = call.sizes[1]
        let kernel = try lowering.weights.lowered(
            weight, as: lowering.builder.floatType,
            ConstantView(sizes: [taps[0], taps[1], 1, taps[2]], rows: nil), in: &lowering.builder)
        let bias = try call.inputs.dropFirst(2).first.map {
            try lowering.operand($0, as: lowering.builder.floatType, label)
        }
        lowering.builder.label = label
        let window = Window(
            strides: [1] + conv.window.strides, dilations: [1] + conv.window.dilations,
            before: [0] + conv.window.before, after: [0] + conv.window.after)
        let operand = convolved(
            x, kernel, bias, window, groups: conv.groups, layout.sizes(call.result), &lowering.builder)
        return .channels(
            ChannelsValue(operand: operand, layout: layout.reduced(to: call.result), sizes: call.result))
    }

    /// Gathers rows of a table. A table above the limit of an axis is read in parts.
    @Sendable private static func rows(
        _ call: ChannelsCall, _ lowering: inout FunctionLowering
    ) throws -> LoweredValue? {
        let (count, row) = (call.sizes[0][0], Array(call.sizes[0].dropFirst()))
        guard count > lowering.options.longestAxis, let weight = call.inputs[0].constant,
            call.resultType == lowering.builder.floatType
        else { return nil }
        let label = lowering.builder.label
        let indices = try lowering.operand(call.inputs[1], as: .int32, label)
        var result: MILOperand?
        for rows in lowering.weights.parts(of: weight, rows: count, atMost: lowering.options.longestAxis) {
            let table = try lowering.weights.lowered(
                weight, as: lowering.builder.floatType, ConstantView(sizes: [rows.count] + row, rows: rows),
                in: &lowering.builder)
            lowering.builder.label = label
            func step(_ type: String, _ x: MILOperand, _ y: Int) -> MILOperand {
                lowering.builder.step(type, ["x": .operand(x), "y": .value(MILValue(y))], x.sizes, .int32)
            }
            let own = step("minimum", step("maximum", step("sub", indices, rows.lowerBound), 0), rows.count - 1)
            let part = lowering.builder.step(
                "gather", ["x": .operand(table), "indices": .operand(own), "axis": 0], call.result)
            guard let before = result else {
                result = part
                continue
            }
            let isIn = lowering.builder.step(
                "greater_equal", ["x": .operand(indices), "y": .value(MILValue(rows.lowerBound))], indices.sizes,
                .bool)
            let flags = lowering.builder.reshaped(isIn, indices.sizes + row.map { _ in 1 })
            result = lowering.builder.step(
                "select", ["cond": .operand(flags), "a": .operand(part), "b": .operand(before)], call.result)
        }
        return result.map { .operand($0) }
    }
}
