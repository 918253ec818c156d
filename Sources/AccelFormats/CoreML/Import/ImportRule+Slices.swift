import AccelPrograms
import AccelTensors

extension ImportRule {
    static let slices: [ImportRule] = [
        ImportRule(
            "slice_by_index", reads: ["x", "begin", "end", "stride", "begin_mask", "end_mask", "squeeze_mask"],
            makes: [Add.self, Cast.self, Gather.self, Reshape.self, Slice.self, Transpose.self], movesOnly: true
        ) { call in
            let x = try call.one("x")
            let xSizes = try call.sizes(of: x)
            let slice = try StridedSlice(call, xSizes)
            @Sendable func squeezed(_ sizes: [Int]) -> [Int] {
                zip(sizes, slice.squeezes).compactMap { $1 ? nil : $0 }
            }
            guard let begin = try? call.integers("begin"), let end = try? call.integers("end") else {
                // Only the begin depends on the inputs; the shape is declared.
                guard let declared = call.declared[0] else { throw MILCall.Problem(reason: "has no known shape") }
                let operation = HostOperation(
                    "slice \(slice)", type: { TensorType($0[0].elementType, shape: Shape(declared)) }
                ) { inputs in
                    let steps = try slice.steps(inputs[1].integers, inputs[2].integers, in: inputs[0].shape)
                    return inputs[0].picking(
                        inputs[0].shape.offsets(of: steps.map(\.all)), Shape(squeezed(steps.map(\.count))))
                }.becoming { call, operands in
                    guard slice.strides.allSatisfy({ $0 == 1 }) else {
                        throw MILCall.Gap(reason: "a slice with steps starts where the inputs say")
                    }
                    var rest = declared[...]
                    let sizes = slice.squeezes.map { $0 ? 1 : rest.popFirst() ?? 1 }
                    let begins = try call.begins(operands[1], leaving: slice.beginMask)
                    return try call.reshaped(call.sliced(operands[0], from: begins, sizes: sizes), declared)
                }
                return try call.apply(operation, [x, call.one("begin"), call.one("end")])
            }
            let steps = try slice.steps(begin.map(Int64.init), end.map(Int64.init), in: Shape(xSizes))
            let sizes = steps.map(\.count)
            if slice.strides.allSatisfy({ $0 == 1 }) {
                return try call.reshaped(
                    call.sliced(x, begin: steps.map(\.start), sizes: sizes), squeezed(sizes))
            }
            let operation = HostOperation.picking("slice \(slice) \(begin) \(end)", to: squeezed(sizes)) { shape in
                let steps = try slice.steps(begin.map(Int64.init), end.map(Int64.init), in: shape)
                return shape.offsets(of: steps.map(\.all))
            }.becoming { call, operands in
                var result = operands[0]
                for (axis, part) in steps.enumerated() where part.count != xSizes[axis] || part.step != 1 {
                    result = try call.gathered(result, axis, part.all)
                }
                return try call.reshaped(result, squeezed(sizes))
            }
            return try call.apply(operation, [x])
        },
        ImportRule(
            "slice_by_size", reads: ["x", "size", "begin"],
            makes: [Add.self, Cast.self, Gather.self, Reshape.self, Slice.self, Transpose.self], movesOnly: true
        ) { call in
            let x = try call.one("x")
            let xSizes = try call.sizes(of: x)
            var sizes = try call.integers("size")
            guard sizes.count == xSizes.count else {
                throw MILCall.Problem(reason: "\(sizes) does not fit \(xSizes)")
            }
            guard let begin = try? call.integers("begin") else {
                for axis in sizes.indices where sizes[axis] == -1 { sizes[axis] = call.declared[0]?[axis] ?? -1 }
                guard sizes.allSatisfy({ $0 >= 0 }) else { throw MILCall.Problem(reason: "has no known shape") }
                let box = sizes
                let operation = HostOperation(
                    "slice of \(box)", type: { TensorType($0[0].elementType, shape: Shape(box)) }
                ) { inputs in
                    let steps = try zip(zip(inputs[1].integers, box), xSizes).map { part, axisSize in
                        guard part.0 >= 0, part.0 <= Int64(axisSize - part.1) else {
                            throw OperatorError("\(part.1) elements from \(part.0) on lie outside of \(axisSize)")
                        }
                        return Array(Int(part.0)..<Int(part.0) + part.1)
                    }
                    guard steps.count == xSizes.count else { throw OperatorError("begin has another rank") }
                    return inputs[0].picking(inputs[0].shape.offsets(of: steps), Shape(box))
                }.becoming { call, operands in
                    let begins = try call.begins(operands[1], leaving: box.map { _ in false })
                    return try call.sliced(operands[0], from: begins, sizes: box)
                }
                return try call.apply(operation, [x, call.one("begin")])
            }
            guard begin.count == xSizes.count, zip(begin, xSizes).allSatisfy({ (-$1...$1).contains($0) }) else {
                throw MILCall.Problem(reason: "a slice from \(begin) on does not fit \(xSizes)")
            }
            let first = zip(begin, xSizes).map { $0 < 0 ? $0 + $1 : $0 }
            for axis in sizes.indices where sizes[axis] == -1 { sizes[axis] = xSizes[axis] - first[axis] }
            return try call.sliced(x, begin: first, sizes: sizes)
        },
        ImportRule(
            "slice_update", reads: ["x", "update", "begin", "end", "stride", "begin_mask", "end_mask", "squeeze_mask"],
            makes: [Reshape.self, Slice.self, UpdateSlice.self], since: .iOS18, movesOnly: true
        ) { call in
            let (x, update) = (try call.one("x"), try call.one("update"))
            let slice = try StridedSlice(call, call.sizes(of: x))
            let operation = HostOperation("update \(slice)", type: { $0[0] }) { inputs in
                let steps = try slice.steps(inputs[2].integers, inputs[3].integers, in: inputs[0].shape)
                let targets = inputs[0].shape.offsets(of: steps.map(\.all))
                guard targets.count == inputs[1].shape.count else {
                    throw OperatorError("\(inputs[1].shape) does not fit the slice \(steps.map(\.count))")
                }
                return inputs[0].replacing(targets, by: inputs[1])
            }.becoming { call, operands in
                guard slice.strides.allSatisfy({ $0 == 1 }) else {
                    throw MILCall.Gap(reason: "a slice with steps is replaced")
                }
                var block = operands[1]
                let xSizes = try call.sizes(of: operands[0])
                if slice.squeezes.contains(true) {
                    var rest = try call.sizes(of: block)[...]
                    block = try call.reshaped(block, slice.squeezes.map { $0 ? 1 : rest.popFirst() ?? 1 })
                }
                guard try call.sizes(of: block).count == xSizes.count else {
                    throw MILCall.Problem(reason: "the update has another rank")
                }
                let begins = try call.begins(operands[2], leaving: slice.beginMask)
                return try call.updated(operands[0], block, from: begins)
            }
            return try call.apply(operation, [x, update, call.one("begin"), call.one("end")])
        },
    ]
}

/// Positions along an axis as a range: a list could be huge, because the file claims the size.
private struct Steps {
    let start: Int
    let end: Int
    let step: Int

    var all: [Int] { Array(stride(from: start, to: end, by: step)) }
    var count: Int {
        let span = step > 0 ? end - start : start - end
        return span <= 0 ? 0 : (span - 1) / abs(step) + 1
    }
}

/// A slice like in NumPy, `begin:end:stride` on each axis; masks leave out `begin` or `end`.
private struct StridedSlice: CustomStringConvertible, Sendable {
    let strides: [Int]
    let beginMask: [Bool]
    let endMask: [Bool]
    let squeezes: [Bool]

    init(_ call: MILCall, _ xSizes: [Int]) throws {
        let rank = xSizes.count
        strides = try call.integers("stride", xSizes.map { _ in 1 })
        beginMask = try call.flags("begin_mask", count: rank)
        endMask = try call.flags("end_mask", count: rank)
        squeezes = try call.flags("squeeze_mask", count: rank)
        guard strides.count == rank, strides.allSatisfy({ $0 != 0 && (-1 << 40...1 << 40).contains($0) }) else {
            throw MILCall.Problem(reason: "strides \(strides) do not fit \(xSizes)")
        }
    }

    var description: String { "\(strides) \(beginMask) \(endMask) \(squeezes)" }

    /// Returns the positions along each axis.
    func steps(_ begin: [Int64], _ end: [Int64], in shape: Shape) throws -> [Steps] {
        guard begin.count == strides.count, end.count == strides.count, shape.rank == strides.count else {
            throw OperatorError("begin \(begin) and end \(end) do not fit \(shape)")
        }
        return try strides.indices.map { axis in
            let axisSize = shape.dimensions[axis]
            func clamped(_ number: Int64, _ low: Int, _ high: Int) -> Int {
                let own = number < 0 ? max(number, -1 << 62) + Int64(axisSize) : number
                return min(max(Int(own), low), high)
            }
            let forward = strides[axis] > 0
            if squeezes[axis] {
                let only = clamped(begin[axis], -1, axisSize)
                guard (0..<axisSize).contains(only) else {
                    throw OperatorError("element \(begin[axis]) lies outside of the \(axisSize) of axis \(axis)")
                }
                return Steps(start: only, end: only + 1, step: 1)
            }
            let (low, high) = forward ? (0, axisSize) : (-1, axisSize - 1)
            let first = beginMask[axis] ? (forward ? low : high) : clamped(begin[axis], low, high)
            let last = endMask[axis] ? (forward ? high : low) : clamped(end[axis], low, high)
            return Steps(start: first, end: last, step: strides[axis])
        }
    }
}
