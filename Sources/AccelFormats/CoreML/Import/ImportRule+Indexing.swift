import AccelPrograms
import AccelTensors

extension ImportRule {
    static let indexing: [ImportRule] = [
        ImportRule(
            "gather", reads: ["x", "indices", "axis", "batch_dims"],
            makes: [Add.self, Cast.self, Gather.self, Reshape.self, Transpose.self], movesOnly: true
        ) { call in
            let (x, indices) = (try call.one("x"), try call.one("indices"))
            let extents = try call.extents(of: x)
            let axis = try call.axis(call.integer("axis", 0), rank: extents.count)
            let batches = try call.integer("batch_dims", 0)
            if case .weight = x.content, axis == 0, batches == 0 { return try call.apply(Gather(), [x, indices]) }
            let places = try call.extents(of: indices)
            guard (0...min(axis, places.count)).contains(batches), places.prefix(batches) == extents.prefix(batches)
            else {
                throw MILCall.Problem(reason: "\(batches) batch axes do not fit \(extents) and \(places)")
            }
            let result = Array(extents[..<axis] + places[batches...] + extents[(axis + 1)...])
            let (batch, outer) = (extents[..<batches].reduce(1, *), extents[batches..<axis].reduce(1, *))
            let (count, inner) = (places[batches...].reduce(1, *), extents[(axis + 1)...].reduce(1, *))
            let gather = HostOperation(
                "gather \(axis) \(batches)", type: { TensorType($0[0].elementType, shape: Shape(result)) }
            ) { inputs in
                let rows = try inputs[1].integers.map { try place($0, in: extents[axis]) }
                var sources: [Int] = []
                sources.reserveCapacity(batch * outer * count * inner)
                for b in 0..<batch {
                    for o in 0..<outer {
                        for k in 0..<count {
                            let start = ((b * outer + o) * extents[axis] + rows[b * count + k]) * inner
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
            let (extents, places) = (try call.extents(of: x), try call.extents(of: indices))
            let axis = try call.axis(call.integer("axis", 0), rank: extents.count)
            guard places.count == extents.count,
                places.indices.allSatisfy({ $0 == axis || places[$0] == extents[$0] })
            else { throw MILCall.Problem(reason: "indices \(places) do not fit \(extents)") }
            let inner = extents[(axis + 1)...].reduce(1, *)
            let gather = HostOperation(
                "gather_along_axis \(axis)", type: { TensorType($0[0].elementType, $0[1].dimensions) }
            ) { inputs in
                let sources = try inputs[1].integers.enumerated().map { position, index in
                    let outer = position / inner / places[axis]
                    return (outer * extents[axis] + (try place(index, in: extents[axis]))) * inner + position % inner
                }
                return inputs[0].picking(sources, Shape(places))
            }.becoming { call, operands in
                // The position of each element without the contribution of the index.
                let starts = (0..<places.reduce(1, *)).map { position in
                    position / inner / max(places[axis], 1) * extents[axis] * inner + position % inner
                }
                let step = try call.apply(
                    Multiply(), [call.apply(Cast(to: .float32), [operands[1]]), call.scalar(Double(inner))])
                let offsets = call.known(HostTensor(starts.map(Float.init), Shape(places)))
                return try call.gathered(
                    call.reshaped(operands[0], [extents.reduce(1, *)]), 0,
                    call.index(call.apply(Add(), [step, offsets])))
            }
            return try call.apply(gather, [x, indices])
        },
        ImportRule(
            "one_hot", reads: ["indices", "one_hot_vector_size", "axis", "on_value", "off_value"],
            makes: [Cast.self, Compare.self, Reshape.self, Select.self, Transpose.self]
        ) { call in
            let indices = try call.one("indices")
            let extents = try call.extents(of: indices)
            let size = try call.integer("one_hot_vector_size")
            let axis = try call.axis(call.integer("axis", -1), rank: extents.count + 1)
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
                let wide = try call.reshaped(operands[0], extents + [1])
                let places = call.known(HostTensor((0..<Int64(size)).map { $0 }, [size]))
                let isOn = try call.apply(Compare(.equal), [wide, places])
                return try call.apply(Select(), [isOn, call.scalar(on), call.scalar(off)])
            }
            var result = try call.apply(oneHot, [indices])
            let rank = extents.count + 1
            let order = Array(0..<axis) + [rank - 1] + Array(axis..<rank - 1)
            result = try call.transposed(result, order)
            return call.resultType.isFloatingPoint ? result : try call.apply(Cast(to: .int64), [result])
        },
    ]

    /// Resolves an index; a negative one counts from the end.
    @Sendable private static func place(_ index: Int64, in extent: Int) throws -> Int {
        let own = index < 0 ? index + Int64(extent) : index
        guard own >= 0, own < Int64(extent) else { throw OperatorError("index \(index) is outside of \(extent)") }
        return Int(own)
    }
}
