/// The mapping of a value's axes to a tensor (B, C, 1, S), the layout of the Neural Engine. Each of B, C and S is a sequence
/// of the value's axes, the first the outermost; axes of size 1 are in none. Splitting channels into heads, and transposing
/// heads and positions, then only changes the mapping, not the tensor.
struct ChannelsLayout: Hashable, Sendable {
    var batch: [Int]
    var channels: [Int]
    var positions: [Int]

    init(batch: [Int], channels: [Int], positions: [Int]) {
        (self.batch, self.channels, self.positions) = (batch, channels, positions)
    }

    /// The default layout: the last axis as channels, the first as batch, all others as positions.
    init(of sizes: [Int]) {
        let last = sizes.count - 1
        let others = (0..<max(last, 0)).filter { sizes[$0] != 1 }
        batch = others.filter { $0 == 0 }
        channels = last >= 0 && sizes[last] != 1 ? [last] : []
        positions = others.filter { $0 > 0 }
    }

    var axes: [Int] { batch + channels + positions }

    /// Returns the shape (B, C, 1, S) of the tensor for a value of the shape `own`.
    func sizes(_ own: [Int]) -> [Int] {
        func product(_ axes: [Int]) -> Int { axes.reduce(1) { $0 * own[$1] } }
        return [product(batch), product(channels), 1, product(positions)]
    }

    private func mapping(_ change: (Int) -> Int) -> ChannelsLayout {
        ChannelsLayout(batch: batch.map(change), channels: channels.map(change), positions: positions.map(change))
    }

    /// Returns the layout of a value with `count` more leading axes.
    func shifted(by count: Int) -> ChannelsLayout { mapping { $0 + count } }

    /// Returns the layout of the transposed value, whose axis i is this one's axis `permutation[i]`.
    func transposed(_ permutation: [Int]) -> ChannelsLayout {
        var order = permutation
        for (new, old) in permutation.enumerated() { order[old] = new }
        return mapping { order[$0] }
    }

    /// Returns the layout without the axes whose size in `sizes` is 1.
    func reduced(to sizes: [Int]) -> ChannelsLayout {
        func kept(_ axes: [Int]) -> [Int] { axes.filter { sizes[$0] != 1 } }
        return ChannelsLayout(batch: kept(batch), channels: kept(channels), positions: kept(positions))
    }

    /// Returns the layout of a value of the shape `sizes` that broadcasts to this one; nil if the value has only some of the
    /// axes of a sequence.
    func broadcasting(_ sizes: [Int]) -> ChannelsLayout? {
        let own = reduced(to: sizes)
        for (all, kept) in [(batch, own.batch), (channels, own.channels), (positions, own.positions)] {
            guard kept.isEmpty || kept == all else { return nil }
        }
        return own
    }

    /// Returns the layout after a reshape; nil if the new axes are not in order in this tensor.
    func reshaped(from old: [Int], to new: [Int]) -> ChannelsLayout? {
        guard let groups = Self.groups(old, new) else { return nil }
        func changed(_ axes: [Int]) -> [Int]? {
            var (result, rest) = ([Int](), axes[...])
            while let first = rest.first {
                guard let group = groups.first(where: { $0.old.first == first }), rest.starts(with: group.old) else {
                    return nil
                }
                result += group.new
                rest = rest.dropFirst(group.old.count)
            }
            return result
        }
        guard let batch = changed(batch), let channels = changed(channels), let positions = changed(positions) else {
            return nil
        }
        return ChannelsLayout(batch: batch, channels: channels, positions: positions)
    }

    /// Groups the axes of size above 1 into runs with equal numbers of elements before and after a reshape.
    private static func groups(_ old: [Int], _ new: [Int]) -> [(old: [Int], new: [Int])]? {
        guard !old.contains(0), !new.contains(0) else { return nil }
        var sources = old.indices.filter { old[$0] != 1 }[...]
        var targets = new.indices.filter { new[$0] != 1 }[...]
        var groups: [(old: [Int], new: [Int])] = []
        while let source = sources.popFirst(), let target = targets.popFirst() {
            var group = (old: [source], new: [target])
            var (before, after) = (old[source], new[target])
            while before != after {
                if before < after {
                    guard let next = sources.popFirst() else { return nil }
                    group.old.append(next)
                    before *= old[next]
                } else {
                    guard let next = targets.popFirst() else { return nil }
                    group.new.append(next)
                    after *= new[next]
                }
            }
            groups.append(group)
        }
        return sources.isEmpty && targets.isEmpty ? groups : nil
    }
}

/// A value in the layout of the Neural Engine.
struct ChannelsValue {
    /// The tensor (B, C, 1, S).
    let operand: MILOperand
    let layout: ChannelsLayout
    /// The shape of the value in the program.
    let sizes: [Int]
}

extension MILBuilder {
    /// Transposes: axis i of the result is axis `permutation[i]`.
    mutating func transposed(_ operand: MILOperand, _ permutation: [Int]) -> MILOperand {
        if permutation == Array(permutation.indices) { return operand }
        return apply(
            "transpose", ["x": .operand(operand), "perm": .value(MILValue(permutation))],
            MILTensorType(operand.type.dataType, permutation.map { operand.sizes[$0] }))
    }

    /// Converts an operand of the shape `own` to a layout.
    mutating func laidOut(_ operand: MILOperand, _ own: [Int], _ layout: ChannelsLayout) -> MILOperand {
        let target = layout.sizes(own)
        if let channel = layout.only, let position = layout.onlyPosition, channel > position {
            let apart = reshaped(operand, [target[0], target[3], 1, target[1]])
            return transposed(apart, [0, 3, 2, 1])
        }
        let apart = reshaped(operand, layout.axes.sorted().map { own[$0] })
        let order = layout.axes.map { axis in layout.axes.sorted().firstIndex(of: axis) ?? 0 }
        return reshaped(transposed(apart, order), target)
    }

    /// Converts a value to the axes of the program.
    mutating func plain(_ value: ChannelsValue) -> MILOperand {
        let (layout, own) = (value.layout, value.sizes)
        if let channel = layout.only, let position = layout.onlyPosition, channel > position {
            return reshaped(transposed(value.operand, [0, 3, 2, 1]), own)
        }
        let apart = reshaped(value.operand, layout.axes.map { own[$0] })
        let order = layout.axes.sorted().map { axis in layout.axes.firstIndex(of: axis) ?? 0 }
        return reshaped(transposed(apart, order), own)
    }

    /// Splits an axis into equal parts.
    mutating func split(_ operand: MILOperand, into count: Int, axis: Int) -> [MILOperand] {
        if count == 1 { return [operand] }
        var sizes = operand.sizes
        sizes[axis] /= count
        return apply(
            "split",
            ["x": .operand(operand), "num_splits": .value(MILValue(count)), "axis": .value(MILValue(axis))],
            [MILTensorType](repeating: MILTensorType(operand.type.dataType, sizes), count: count))
    }

    mutating func joined(_ operands: [MILOperand], axis: Int) -> MILOperand {
        if operands.count == 1 { return operands[0] }
        var sizes = operands[0].sizes
        sizes[axis] = operands.reduce(0) { $0 + $1.sizes[axis] }
        return apply(
            "concat", ["values": .operands(operands), "axis": .value(MILValue(axis)), "interleave": false],
            MILTensorType(operands[0].type.dataType, sizes))
    }
}

extension ChannelsLayout {
    /// The axis of the channels, if there is only one and the batch is the first axis or none; else nil.
    fileprivate var only: Int? {
        guard channels.count == 1, batch.isEmpty || batch == [0] else { return nil }
        return channels[0]
    }
    fileprivate var onlyPosition: Int? { positions.count == 1 ? positions[0] : nil }
}
