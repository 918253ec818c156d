import AccelByteIO
import AccelPrograms

extension CoreAIRules {
    static let shapes: [CoreAIRule] = [
        CoreAIRule(Reshape.self) { _, call, builder in builder.reshaped(call.inputs[0], call.shape) },
        CoreAIRule(Expand.self) { _, call, builder in builder.broadcast(call.inputs[0], to: call.shape) },
        CoreAIRule(Transpose.self) { transpose, call, builder in
            builder.transposed(call.inputs[0], transpose.permutation)
        },
        CoreAIRule(Slice.self) { slice, call, builder in
            builder.slice(call.inputs[0], from: slice.begin.compactMap(\.value), call.shape)
        },
        CoreAIRule(Concat.self) { concat, call, builder in builder.joined(call.inputs, axis: concat.axis) },
        CoreAIRule(Gather.self) { _, call, builder in builder.gathered(call.inputs[0], call.inputs[1]) },
        CoreAIRule(Pad.self) { pad, call, builder in
            let x = call.inputs[0]
            let (before, after) = (pad.before.map { $0.value ?? 0 }, pad.after.map { $0.value ?? 0 })
            guard pad.mode != .constant else {
                return builder.padded(x, before: before, after: after, with: pad.value)
            }
            return try x.shape.indices.reduce(x) { x, axis in
                guard before[axis] + after[axis] > 0 else { return x }
                let size = x.shape[axis]
                try MachineMemory.require(64 * call.shape[axis], for: "the indices that pad axis \(axis)")
                let sources = (-before[axis]..<size + after[axis]).map { pad.source(of: $0, in: size) ?? 0 }
                return builder.picked(x, sources, axis: axis)
            }
        },
        CoreAIRule(Resize.self, resized),
        CoreAIRule(UpdateSlice.self, updated),
    ]

    /// Resizes one axis after the other by gathering: its interpolation has a rounding of its own.
    @Sendable private static func resized(
        _ resize: Resize, _ call: CoreAICall, _ builder: inout CoreAIBuilder
    ) throws -> CoreAIValue? {
        var x = call.inputs[0]
        for (axis, size) in zip(2..., resize.sizes.compactMap(\.value)) where size != x.shape[axis] {
            try MachineMemory.require(64 * size, for: "the indices that resize axis \(axis) to \(size)")
            let sources = (0..<size).map { resize.source(of: $0, of: size, in: x.shape[axis]) }
            let lower = builder.picked(x, sources.map(\.lower), axis: axis)
            guard resize.mode == .linear else {
                x = lower
                continue
            }
            let upper = builder.picked(x, sources.map(\.upper), axis: axis)
            let alongAxis = lower.shape.indices.map { $0 == axis ? size : 1 }
            let floats = sources.map { Float($0.weight) }
            let weights = builder.constant(
                ByteView(floats).withBytes { Array($0) }, alongAxis, .float32, isSplat: false)
            let part = builder.binary("mul", builder.binary("sub", upper, lower), builder.cast(weights, to: x.element))
            x = builder.binary("add", lower, part)
        }
        return x
    }

    /// Writes a block into a tensor at a position known at run time; row by row if each row has its own position.
    @Sendable private static func updated(
        _ update: UpdateSlice, _ call: CoreAICall, _ builder: inout CoreAIBuilder
    ) throws -> CoreAIValue? {
        let (target, block, positions) = (call.inputs[0], call.inputs[1], call.inputs[2])
        let rows = positions.shape.reduce(1, *)
        let flat = builder.reshaped(positions, [rows])
        return (0..<rows).reduce(target) { result, row in
            var (part, start) = (block, flat)
            var first = target.shape.map { _ in 0 }
            if rows > 1 {
                first[0] = row
                start = builder.slice(flat, from: [row], [1])
                part = builder.slice(block, from: first, [1] + block.shape.dropFirst())
            }
            let pieces = [
                update.axis > 0 ? builder.constant(Array(first[..<update.axis])) : nil, start,
                update.axis + 1 < first.count ? builder.constant(Array(first[(update.axis + 1)...])) : nil,
            ].compactMap(\.self)
            let begin = builder.joined(pieces, axis: 0)
            let end = builder.binary("add", begin, builder.constant(part.shape))
            let strides = builder.constant(part.shape.map { _ in 1 })
            return builder.apply("primitive.slice_update_v1", [result, begin, end, strides, part], target.shape)
        }
    }
}
