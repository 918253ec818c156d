import AccelPrograms
import AccelTensors

/// Slices with computed begins, and gathering, in registered operators.
extension MILCall {
    /// Returns the elements of a list of integers concatenated from `values`; nil if one of these is a computed list.
    func elements(of values: [MILArgument]) throws -> [MILArgument]? {
        var elements: [MILArgument] = []
        for value in values {
            if let parts = value.parts {
                elements += parts
            } else if case .known(let tensor) = value.content {
                elements += tensor.integers.map { MILArgument(type: .int32, content: .known(HostTensor([$0], [1]))) }
            } else if try sizes(of: value).reduce(1, *) == 1 {
                elements.append(value)
            } else {
                return nil
            }
        }
        return elements
    }

    /// Returns the begin of a slice on each axis.
    /// - Parameter masks: the axes on which the slice begins at 0, independent of `list`.
    /// - Throws: `Gap` for a list that is computed as a whole.
    func begins(_ list: MILArgument, leaving masks: [Bool]) throws -> [MILArgument] {
        guard let parts = try elements(of: [list]), parts.count == masks.count else {
            throw Gap(reason: "where the slice begins is computed for all axes at once")
        }
        return zip(parts, masks).map { $1 ? Self.first : $0 }
    }

    private static var first: MILArgument { MILArgument(type: .int32, content: .known(HostTensor([0 as Int64], [1]))) }

    /// Returns a known position, counted from the first element; nil for a computed one.
    private func known(_ position: MILArgument, of axisSize: Int) throws -> Int? {
        guard case .known(let tensor) = position.content, let number = tensor.integers.first else { return nil }
        guard number >= -Int64(axisSize), number <= Int64(axisSize) else {
            throw Problem(reason: "a slice from \(number) on does not fit \(axisSize) elements")
        }
        return Int(number < 0 ? number + Int64(axisSize) : number)
    }

    /// Slices a block of `sizes`; its begins may be computed.
    mutating func sliced(_ x: MILArgument, from begins: [MILArgument], sizes: [Int]) throws -> MILArgument {
        var result = x
        for (axis, size) in sizes.enumerated() {
            let xSizes = try self.sizes(of: result)
            guard xSizes.count == sizes.count, xSizes[axis] != size else { continue }
            if let begin = try known(begins[axis], of: xSizes[axis]) {
                var (first, box) = (xSizes.map { _ in 0 }, xSizes)
                (first[axis], box[axis]) = (begin, size)
                result = try sliced(result, begin: first, sizes: box)
            } else {
                let position = try apply(Cast(to: .float32), [reshaped(begins[axis], [1])])
                let steps = known(HostTensor((0..<size).map(Float.init), [size]))
                result = try gathered(result, axis, index(apply(Add(), [position, steps])))
            }
        }
        return result
    }

    /// Replaces a block of `x`; its begin may be computed on one axis.
    mutating func updated(_ x: MILArgument, _ block: MILArgument, from begins: [MILArgument]) throws -> MILArgument {
        let (xSizes, box) = (try sizes(of: x), try self.sizes(of: block))
        let cut = xSizes.indices.filter { xSizes[$0] != box[$0] }
        guard let last = cut.last else { return block }
        guard cut.count > 1 else {
            let position = try reshaped(begins[last], [1])
            return try apply(UpdateSlice(axis: last), [x, block, position])
        }
        // Nested blocks: the outer one has the known begins.
        for axis in cut {
            guard let begin = try known(begins[axis], of: xSizes[axis]) else { continue }
            var (first, outer) = (xSizes.map { _ in 0 }, xSizes)
            (first[axis], outer[axis]) = (begin, box[axis])
            let part = try updated(sliced(x, begin: first, sizes: outer), block, from: begins)
            let position = MILArgument(type: .int32, content: .known(HostTensor([Int64(begin)], [1])))
            return try apply(UpdateSlice(axis: axis), [x, part, position])
        }
        throw Gap(reason: "a block is replaced that begins where the inputs say on several axes")
    }

    /// Gathers the elements at known positions of an axis.
    mutating func gathered(_ x: MILArgument, _ axis: Int, _ positions: [Int]) throws -> MILArgument {
        try gathered(x, axis, known(HostTensor(positions.map(Int64.init), [positions.count])))
    }

    /// Gathers the elements at `indices` of an axis; the axes of the indices replace it. Known indices may count from the end.
    mutating func gathered(_ x: MILArgument, _ axis: Int, _ indices: MILArgument) throws -> MILArgument {
        let xSizes = try self.sizes(of: x)
        var indices = indices
        if case .known(let tensor) = indices.content {
            let own = try tensor.integers.map { index in
                let position = index < 0 ? index + Int64(xSizes[axis]) : index
                guard (0..<Int64(xSizes[axis])).contains(position) else {
                    throw Problem(reason: "index \(index) is outside of \(xSizes[axis])")
                }
                return position
            }
            indices = known(HostTensor(own, tensor.shape))
        }
        let rank = try self.sizes(of: indices).count
        let others = xSizes.indices.filter { $0 != axis }
        let rows = try apply(Gather(), [transposed(x, [axis] + others), indices])
        // The axes of the indices come first, and are transposed to the position of the axis.
        let before = (0..<axis).map { rank + $0 }
        let after = (axis..<xSizes.count - 1).map { rank + $0 }
        return try transposed(rows, before + Array(0..<rank) + after)
    }

    /// Converts computed positions to indices.
    mutating func index(_ positions: MILArgument) throws -> MILArgument { try apply(Cast(to: .int64), [positions]) }

    /// Gathers with batches: the first axes of `x` and of the indices are batches, each with its own indices.
    mutating func gathered(
        _ x: MILArgument, _ axis: Int, _ indices: MILArgument, batches: Int
    ) throws -> MILArgument {
        guard batches > 0 else { return try gathered(x, axis, indices) }
        let (xSizes, indexSizes) = (try sizes(of: x), try self.sizes(of: indices))
        let batch = xSizes[..<batches].reduce(1, *)
        let others = xSizes.indices.filter { $0 >= batches && $0 != axis }
        let order = Array(0..<batches) + [axis] + others
        let rows = try reshaped(transposed(x, order), [batch * xSizes[axis]] + others.map { xSizes[$0] })
        // The rows of all batches are consecutive, so each batch adds its offset.
        let count = indexSizes[batches...].reduce(1, *)
        let own = try apply(Cast(to: .float32), [reshaped(indices, [batch, count])])
        let starts = known(HostTensor((0..<batch).map { Float($0 * xSizes[axis]) }, [batch, 1]))
        let found = try gathered(rows, 0, index(apply(Add(), [own, starts])))
        let apart = try reshaped(found, xSizes[..<batches] + indexSizes[batches...] + others.map { xSizes[$0] })
        let (rank, outer) = (indexSizes.count, axis - batches)
        let inner = rank + outer..<rank + others.count
        return try transposed(
            apart, Array(0..<batches) + Array(rank..<rank + outer) + Array(batches..<rank) + Array(inner))
    }

    /// Repeats each axis by the number in `reps`.
    mutating func tiled(_ x: MILArgument, _ reps: [Int]) throws -> MILArgument {
        var result = x
        for (axis, count) in reps.enumerated() where count != 1 {
            var xSizes = try self.sizes(of: result)
            var wide = xSizes
            wide.insert(1, at: axis)
            let apart = try reshaped(result, wide)
            wide[axis] = count
            xSizes[axis] *= count
            result = try reshaped(apply(Expand(to: wide.map(Dimension.fixed)), [apart]), xSizes)
        }
        return result
    }
}
