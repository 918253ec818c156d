import AccelPrograms
import AccelTensors

extension ImportRule {
    static let indexing: [ImportRule] = [
        ImportRule(
            "gather", reads: ["x", "indices", "axis", "batch_dims"],
            makes: [Add.self, Cast.self, Gather.self, Reshape.self, Transpose.self], movesOnly: true
        ) { call in
            let (x, indices) = (try call.one("x"), try call.one("indices"))
            let sizes = try call.sizes(of: x)
            let axis = try call.axis(call.integer("axis", 0), rank: sizes.count)
            let batches = try call.integer("batch_dims", 0)
            if case .weight = x.content, axis == 0, batches == 0 { return try call.apply(Gather(), [x, indices]) }
            let indexSizes = try call.sizes(of: indices)
            guard (0...min(axis, indexSizes.count)).contains(batches),
                indexSizes.prefix(batches) == sizes.prefix(batches)
            else {
                throw MILCall.Problem(reason: "\(batches) batch axes do not fit \(sizes) and \(indexSizes)")
            }
            let result = Array(sizes[..<axis] + indexSizes[batches...] + sizes[(axis + 1)...])
            let (batch, outer) = (sizes[..<batches].reduce(1, *), sizes[batches..<axis].reduce(1, *))
            let (count, inner) = (indexSizes[batches...].reduce(1, *), sizes[(axis + 1)...].reduce(1, *))
            let gather = HostOperation(
                "gather \(axis) \(batches)", type: { TensorType($0[0].elementType, shape: Shape(result)) }
            ) { inputs in
                let rows = try inputs[1].integers.map { try resolved($0, in: sizes[axis]) }
                var sources: [Int] = []
                sources.reserveCapacity(batch * outer * count * inner)
                for b in 0..<batch {
                    for o in 0..<outer {
                        for k in 0..<count {
                            let start = ((b * outer + o) * sizes[axis] + rows[b * count + k]) * inner
                            sources.append(contentsOf: start..<start + inner)
                        }
                    }
                }
                return inputs[0].picking(sources, Shape(result))
            }.becoming { call, operands in
                try call.gathered(operands[0], axis, operands[1], batches: batches)
            }
            return try call.apply(gather, [x, indices])
        },
        ImportRule(
            "gather_along_axis", reads: ["x", "indices", "axis"],
            makes: [Add.self, Cast.self, Gather.self, Multiply.self, Reshape.self, Transpose.self], movesOnly: true
        ) { call in
            let (x, indices) = (try call.one("x"), try call.one("indices"))
            let (sizes, indexSizes) = (try call.sizes(of: x), try call.sizes(of: indices))
            let axis = try call.axis(call.integer("axis", 0), rank: sizes.count)
            guard indexSizes.count == sizes.count,
                indexSizes.indices.allSatisfy({ $0 == axis || indexSizes[$0] == sizes[$0] })
            else { throw MILCall.Problem(reason: "indices \(indexSizes) do not fit \(sizes)") }
            let inner = sizes[(axis + 1)...].reduce(1, *)
            let gather = HostOperation(
                "gather_along_axis \(axis)", type: { TensorType($0[0].elementType, $0[1].dimensions) }
            ) { inputs in
                let sources = try inputs[1].integers.enumerated().map { position, index in
                    let outer = position / inner / indexSizes[axis]
                    return (outer * sizes[axis] + (try resolved(index, in: sizes[axis]))) * inner + position % inner
                }
                return inputs[0].picking(sources, Shape(indexSizes))
            }.becoming { call, operands in
                // The position of each element without the contribution of the index.
                let starts = (0..<indexSizes.reduce(1, *)).map { position in
                    position / inner / max(indexSizes[axis], 1) * sizes[axis] * inner + position % inner
                }
                let step = try call.apply(
                    Multiply(), [call.apply(Cast(to: .float32), [operands[1]]), call.scalar(Double(inner))])
                let offsets = call.known(HostTensor(starts.map(Float.init), Shape(indexSizes)))
                return try call.gathered(
                    call.reshaped(operands[0], [sizes.reduce(1, *)]), 0,
                    call.index(call.apply(Add(), [step, offsets])))
            }
            return try call.apply(gather, [x, indices])
        },
        ImportRule(
            "one_hot", reads: ["indices", "one_hot_vector_size", "axis", "on_value", "off_value"],
            makes: [Cast.self, Compare.self, Reshape.self, Select.self, Transpose.self]
        ) { call in
            let indices = try call.one("indices")
            let sizes = try call.sizes(of: indices)
            let size = try call.integer("one_hot_vector_size")
            let axis = try call.axis(call.integer("axis", -1), rank: sizes.count + 1)
            let (on, off) = (try call.number("on_value", 1), try call.number("off_value", 0))
            guard (1...1 << 24).contains(size) else { throw MILCall.Problem(reason: "vectors of \(size)") }
            let oneHot = HostOperation(
                "one_hot \(size) \(on) \(off)", type: { TensorType(.float32, $0[0].dimensions + [.fixed(size)]) }
            ) { inputs in
                let floats = inputs[0].integers.flatMap { index in
                    (0..<size).map { Int64($0) == index ? Float(on) : Float(off) }
                }
                return HostTensor(floats, Shape(inputs[0].shape.dimensions + [size]))
            }.becoming { call, operands in
                let wide = try call.reshaped(operands[0], sizes + [1])
                let classes = call.known(HostTensor((0..<Int64(size)).map { $0 }, [size]))
                let isOn = try call.apply(Compare(.equal), [wide, classes])
                return try call.apply(Select(), [isOn, call.scalar(on), call.scalar(off)])
            }
            var result = try call.apply(oneHot, [indices])
            let rank = sizes.count + 1
            let order = Array(0..<axis) + [rank - 1] + Array(axis..<rank - 1)
            result = try call.transposed(result, order)
            return call.resultType.isFloatingPoint ? result : try call.apply(Cast(to: .int64), [result])
        },
    ]

    /// Resolves an index; a negative one counts from the end.
    @Sendable private static func resolved(_ index: Int64, in size: Int) throws -> Int {
        let own = index < 0 ? index + Int64(size) : index
        guard own >= 0, own < Int64(size) else { throw OperatorError("index \(index) is outside of \(size)") }
        return Int(own)
    }
}
