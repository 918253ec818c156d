import AccelPrograms

extension CoreAIRules {
    static let reductions: [CoreAIRule] = [
        CoreAIRule(Reduce.self, isPrecise: { $0.kind == .sum }) { reduce, call, builder in
            guard let kind = CoreAIBuilder.Reduction(rawValue: reduce.kind.rawValue) else { return nil }
            return builder.reshaped(builder.reduced(call.inputs[0], kind, axes: reduce.axes), call.shape)
        },
        CoreAIRule(ArgMax.self) { argMax, call, builder in
            builder.reshaped(builder.largest(call.inputs[0], axis: argMax.axis), call.shape)
        },
        CoreAIRule(CumulativeSum.self, isPrecise: { _ in true }) { sum, call, builder in
            builder.apply(
                "primitive.scan_v1",
                [
                    call.inputs[0], builder.constant([sum.axis], .uint32, shape: []),
                    builder.constant([0], .bool, shape: []),
                ], call.shape, property: .choice(.scan, 0))
        },
        CoreAIRule(Softmax.self) { _, call, builder in builder.softmax(call.inputs[0]) },
    ]

    static let products: [CoreAIRule] = [
        CoreAIRule(MatMul.self) { _, call, builder in builder.product(call.inputs[0], call.inputs[1]) },
        CoreAIRule(Linear.self) { linear, call, builder in
            guard linear.activation == .none else { return nil }
            let (x, weight) = (call.inputs[0], call.inputs[1])
            let rows = builder.reshaped(x, [x.shape.dropLast().reduce(1, *), x.shape[x.rank - 1]])
            let product = builder.product(rows, builder.transposed(weight, [1, 0]))
            let whole = builder.reshaped(product, call.shape)
            return call.inputs.count == 3 ? builder.binary("add", whole, call.inputs[2]) : whole
        },
        CoreAIRule(Conv.self) { conv, call, builder in
            let window = conv.window
            guard window.axes <= 2 else { return nil }
            let zeros = [0, 0]
            let x = builder.padded(call.inputs[0], before: zeros + window.before, after: zeros + window.after)
            let (image, kernel) = (builder.flat(x), builder.flat(call.inputs[1]))
            let result = builder.apply(
                "primitive.conv2d_v1",
                [image, kernel] + builder.steps(window) + [builder.constant([conv.groups], .uint32, shape: [])],
                builder.flatShape(call.shape))
            return builder.shifted(builder.reshaped(result, call.shape), call.inputs)
        },
        CoreAIRule(ConvTranspose.self, transposedConvolution),
    ]

    /// Computes the whole result first; then it is cropped, or padded, at both ends.
    @Sendable private static func transposedConvolution(
        _ conv: ConvTranspose, _ call: CoreAICall, _ builder: inout CoreAIBuilder
    ) throws -> CoreAIValue? {
        let (x, weight, window) = (call.inputs[0], call.inputs[1], conv.window)
        guard window.axes <= 2 else { return nil }
        var whole = Array(call.shape[..<2])
        for axis in 0..<window.axes {
            let span = (weight.shape[axis + 2] - 1) * window.dilations[axis] + 1
            whole.append((x.shape[axis + 2] - 1) * window.strides[axis] + span)
        }
        let (image, kernel, steps) = (builder.flat(x), builder.flat(weight), builder.steps(window))
        let none = builder.constant([0, 0], .uint32)
        let groups = builder.constant([conv.groups], .uint32, shape: [])
        let flat = builder.apply(
            "primitive.conv_transpose2d_v1", [image, kernel, steps[0], none, steps[1], none, groups],
            builder.flatShape(whole))
        let missing = (0..<window.axes).map { max(conv.outputPadding[$0] - window.after[$0], 0) }
        let padded = builder.padded(
            builder.reshaped(flat, whole), before: whole.map { _ in 0 }, after: [0, 0] + missing)
        return builder.shifted(builder.slice(padded, from: [0, 0] + window.before, call.shape), call.inputs)
    }
}

extension CoreAIBuilder {
    /// Returns a tensor with one spatial axis as one with two.
    fileprivate mutating func flat(_ x: CoreAIValue) -> CoreAIValue { reshaped(x, flatShape(x.shape)) }

    fileprivate func flatShape(_ shape: [Int]) -> [Int] {
        shape.count == 3 ? [shape[0], shape[1], 1, shape[2]] : shape
    }

    /// Returns strides and dilations for two axes.
    fileprivate mutating func steps(_ window: Window) -> [CoreAIValue] {
        [window.strides, window.dilations].map { constant($0.count == 1 ? [1, $0[0]] : $0, .uint32) }
    }

    /// Adds the bias of channels, if there is one.
    fileprivate mutating func shifted(_ x: CoreAIValue, _ inputs: [CoreAIValue]) -> CoreAIValue {
        guard inputs.count == 3 else { return x }
        let bias = reshaped(inputs[2], [1, inputs[2].shape[0]] + x.shape.dropFirst(2).map { _ in 1 })
        return binary("add", x, bias)
    }
}
