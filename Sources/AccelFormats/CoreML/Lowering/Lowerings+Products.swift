import AccelPrograms

extension Lowerings {
    static let products: [Lowering] = [
        Lowering(Linear.self, fits: { linear, _ in linear.activation == .none }, linear),
        Lowering(MatMul.self) { _, x, builder in
            builder.result(
                "matmul",
                ["x": .operand(x[0]), "y": .operand(x[1]), "transpose_x": false, "transpose_y": false])
        },
        Lowering(
            Attention.self, since: .iOS18,
            fits: { attention, x in
                // Core ML's attention always scales by 1/sqrt(width), and has no grouped heads.
                x[0].sizes[1] == x[1].sizes[1]
                    && abs(attention.scale * Double(x[0].sizes[3]).squareRoot() - 1) < 1e-6
            }
        ) { _, x, builder in
            builder.result(
                "scaled_dot_product_attention",
                [
                    "query": .operand(x[0]), "key": .operand(x[1]), "value": .operand(x[2]),
                    "attn_mask": .optional(x.dropFirst(3).first),
                ])
        },
        Lowering(Conv.self, fits: { _, x in x.dropFirst().allSatisfy(\.isConstant) }) { conv, x, builder in
            let pad = zip(conv.window.before, conv.window.after).flatMap { [$0, $1] }
            return sliding("conv", x, conv.window, pad: pad, groups: conv.groups, &builder)
        },
        Lowering(
            ConvTranspose.self,
            fits: { conv, x in
                // Output padding is less cropping at the end, so it cannot exceed the padding there.
                x.dropFirst().allSatisfy(\.isConstant)
                    && zip(conv.window.after, conv.outputPadding).allSatisfy { $0 >= $1 }
            }
        ) { conv, x, builder in
            let after = zip(conv.window.after, conv.outputPadding).map { $0 - $1 }
            let pad = zip(conv.window.before, after).flatMap { [$0, $1] }
            return sliding("conv_transpose", x, conv.window, pad: pad, groups: conv.groups, &builder)
        },
    ]

    /// Appends an operation with a kernel that slides over the spatial axes.
    private static func sliding(
        _ operation: String, _ x: [MILOperand], _ window: Window, pad: [Int], groups: Int,
        _ builder: inout MILBuilder
    ) -> MILOperand {
        builder.result(
            operation,
            [
                "x": .operand(x[0]), "weight": .operand(x[1]), "bias": .optional(x.dropFirst(2).first),
                "strides": .value(MILValue(window.strides)), "pad_type": "custom", "pad": .value(MILValue(pad)),
                "dilations": .value(MILValue(window.dilations)), "groups": .value(MILValue(groups)),
            ])
    }

    /// Core ML's `linear` needs a constant weight and at most three axes.
    @Sendable private static func linear(
        _: Linear, _ inputs: [MILOperand], _ builder: inout MILBuilder
    ) -> MILOperand {
        let (x, weight, sizes) = (inputs[0], inputs[1], builder.resultSizes)
        let bias = inputs.count == 3 ? inputs[2] : nil
        guard weight.isConstant, bias?.isConstant ?? true else {
            let product = builder.step(
                "matmul",
                ["x": .operand(x), "y": .operand(weight), "transpose_x": false, "transpose_y": true], sizes)
            guard let bias else { return product }
            return builder.result("add", ["x": .operand(product), "y": .operand(bias)])
        }
        let isDeep = x.type.rank > 3
        let rows = x.sizes.dropLast().reduce(1, *)
        let flat = isDeep ? builder.reshaped(x, [rows, x.sizes[x.type.rank - 1]]) : x
        let flatSizes = isDeep ? [rows, weight.sizes[0]] : sizes
        let product = builder.step(
            "linear", ["x": .operand(flat), "weight": .operand(weight), "bias": .optional(bias)], flatSizes)
        return builder.reshaped(product, sizes)
    }

    static let memory: [Lowering] = [
        Lowering(UpdateSlice.self, since: .iOS18, updated)
    ]

    /// Writes a block into a tensor at a position known at run time; row by row if each row has its own position.
    @Sendable private static func updated(
        _ update: UpdateSlice, _ inputs: [MILOperand], _ builder: inout MILBuilder
    ) -> MILOperand {
        let (target, block, positions) = (inputs[0], inputs[1], inputs[2])
        let rows = positions.sizes.reduce(1, *)
        var result = target
        for row in 0..<rows {
            var start = builder.reshaped(positions, [rows])
            var sizes = block.sizes
            var part = block
            if rows > 1 {
                start = builder.apply(
                    "slice_by_size",
                    ["x": .operand(start), "begin": .value(MILValue([row])), "size": .value(MILValue([1]))],
                    MILTensorType(.int32, [1]))
                sizes[0] = 1
                let begin = sizes.indices.map { $0 == 0 ? row : 0 }
                part = builder.apply(
                    "slice_by_size",
                    ["x": .operand(block), "begin": .value(MILValue(begin)), "size": .value(MILValue(sizes))],
                    MILTensorType(block.type.dataType, sizes))
            }
            let first = sizes.indices.map { $0 == 0 && rows > 1 ? row : 0 }
            let before = builder.constant(MILValue(Array(first[..<update.axis])), "\(builder.label)_before")
            let after = builder.constant(MILValue(Array(first[(update.axis + 1)...])), "\(builder.label)_after")
            let pieces = [before, start, after].filter { $0.sizes != [0] }
            let begin = builder.apply(
                "concat", ["values": .operands(pieces), "axis": 0, "interleave": false],
                MILTensorType(.int32, [sizes.count]))
            let end = builder.apply(
                "add", ["x": .operand(begin), "y": .value(MILValue(sizes))], MILTensorType(.int32, [sizes.count]))
            result = builder.result(
                "slice_update",
                ["x": .operand(result), "update": .operand(part), "begin": .operand(begin), "end": .operand(end)])
        }
        return result
    }
}
