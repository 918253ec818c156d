import AccelByteIO
import AccelPrograms

extension Lowerings {
    static let reductions: [Lowering] = [
        Lowering(Reduce.self, isPrecise: { $0.kind == .sum }) { reduce, x, builder in
            let operation =
                switch reduce.kind {
                case .sum: "reduce_sum"
                case .mean: "reduce_mean"
                case .max: "reduce_max"
                }
            return builder.result(
                operation,
                [
                    "x": .operand(x[0]), "axes": .value(MILValue(reduce.axes)),
                    "keep_dims": .value(MILValue(reduce.keepsAxes)),
                ])
        },
        Lowering(ArgMax.self) { argMax, x, builder in
            builder.result(
                "reduce_argmax",
                [
                    "x": .operand(x[0]), "axis": .value(MILValue(argMax.axis)),
                    "keep_dims": .value(MILValue(argMax.keepsAxis)),
                ])
        },
        Lowering(CumulativeSum.self, isPrecise: { _ in true }) { sum, x, builder in
            builder.result(
                "cumsum",
                [
                    "x": .operand(x[0]), "axis": .value(MILValue(sum.axis)), "exclusive": false, "reverse": false,
                ])
        },
        Lowering(Softmax.self) { _, x, builder in builder.result("softmax", ["x": .operand(x[0]), "axis": -1]) },
        Lowering(LayerNorm.self, isPrecise: { $0.epsilon < leastHalf }) { norm, x, builder in
            builder.result(
                "layer_norm",
                [
                    "x": .operand(x[0]), "axes": .value(MILValue([-1])), "gamma": .operand(x[1]),
                    "beta": .optional(x.dropFirst(2).first), "epsilon": builder.number(norm.epsilon),
                ])
        },
    ]

    /// The smallest positive binary16 number: a smaller epsilon would round to 0.
    private static let leastHalf = 0x1p-24

    static let shapes: [Lowering] = [
        Lowering(Reshape.self, fits: { _, x in (x.first?.type.rank ?? 0) <= 5 }) { _, x, builder in
            builder.result("reshape", ["x": .operand(x[0]), "shape": .value(MILValue(builder.resultSizes))])
        },
        Lowering(Transpose.self) { transpose, x, builder in
            builder.result("transpose", ["x": .operand(x[0]), "perm": .value(MILValue(transpose.permutation))])
        },
        Lowering(Slice.self) { slice, x, builder in
            builder.result(
                "slice_by_size",
                [
                    "x": .operand(x[0]), "begin": .value(MILValue(slice.begin.compactMap(\.value))),
                    "size": .value(MILValue(builder.resultSizes)),
                ])
        },
        Lowering(Concat.self) { concat, x, builder in
            builder.result(
                "concat", ["values": .operands(x), "axis": .value(MILValue(concat.axis)), "interleave": false])
        },
        Lowering(Expand.self) { _, x, builder in
            let sizes = builder.resultSizes
            let aligned = [Int](repeating: 1, count: sizes.count - x[0].type.rank) + x[0].sizes
            let whole = builder.reshaped(x[0], aligned)
            let repetitions = zip(sizes, aligned).map { $1 == 0 ? 1 : $0 / $1 }
            if repetitions.allSatisfy({ $0 == 1 }) { return whole }
            return builder.result("tile", ["x": .operand(whole), "reps": .value(MILValue(repetitions))])
        },
        Lowering(Pad.self, fits: { pad, _ in pad.mode == .constant || pad.paddedAxes <= 2 }) { pad, x, builder in
            // Reflection and replication support the last two axes at most, so leading axes without padding are left out.
            let first = pad.mode == .constant ? 0 : pad.before.count - pad.paddedAxes
            let amounts = zip(pad.before, pad.after).dropFirst(first).flatMap { [$0.value ?? 0, $1.value ?? 0] }
            let mode =
                switch pad.mode {
                case .constant: "constant"
                case .reflect: "reflect"
                case .edge: "replicate"
                }
            return builder.result(
                "pad",
                [
                    "x": .operand(x[0]), "pad": .value(MILValue(amounts)), "mode": .value(MILValue(mode)),
                    "constant_val": builder.number(pad.value),
                ])
        },
        Lowering(Resize.self, resized),
        Lowering(Gather.self) { _, x, builder in
            builder.result("gather", ["x": .operand(x[0]), "indices": .operand(x[1]), "axis": 0])
        },
    ]

    /// Resizes one axis after the other by gathering. Core ML's own resizing supports two axes and some factors only.
    @Sendable private static func resized(
        _ resize: Resize, _ inputs: [MILOperand], _ builder: inout MILBuilder
    ) throws -> MILOperand {
        var x = inputs[0]
        for (axis, size) in zip(2..., resize.sizes.compactMap(\.value)) where size != x.sizes[axis] {
            var sizes = x.sizes
            // Memory for both neighbours and the weight of each element, as numbers and as bytes of the package.
            try MachineMemory.require(64 * size, for: "the indices that resize axis \(axis) to \(size)")
            let sources = (0..<size).map { resize.source(of: $0, of: size, in: x.sizes[axis]) }
            sizes[axis] = size
            let axisParameter = MILParameter.value(MILValue(axis))
            func picked(_ indices: [Int]) -> MILOperand {
                builder.step(
                    "gather", ["x": .operand(x), "indices": .value(MILValue(indices)), "axis": axisParameter], sizes)
            }
            let lower = picked(sources.map(\.lower))
            guard resize.mode == .linear else {
                x = lower
                continue
            }
            let upper = picked(sources.map(\.upper))
            let alongAxis = sizes.indices.map { $0 == axis ? size : 1 }
            let weights = MILValue(floats: sources.map { Float($0.weight) }, builder.floatType, alongAxis)
            let difference = builder.step("sub", ["x": .operand(upper), "y": .operand(lower)], sizes)
            let part = builder.step("mul", ["x": .operand(difference), "y": .value(weights)], sizes)
            x = builder.step("add", ["x": .operand(lower), "y": .operand(part)], sizes)
        }
        return x
    }
}

extension Pad {
    /// The number of axes from the first padded one on.
    fileprivate var paddedAxes: Int {
        let first = before.indices.first { before[$0].value != 0 || after[$0].value != 0 }
        return before.count - (first ?? before.count - 1)
    }
}
