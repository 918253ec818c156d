import AccelPrograms

/// An operator, with what its inputs have become, that may be laid out for the Neural Engine.
struct ChannelsCall {
    let operation: any Operator
    let inputs: [LoweredValue]
    /// Of the inputs, as the program has them.
    let extents: [[Int]]
    /// The extents of the result.
    let result: [Int]
    let resultType: MILDataType

    /// The layout of the first input that is laid out and has all axes of the result.
    var leading: ChannelsLayout? {
        for (input, own) in zip(inputs, extents) {
            guard let value = input.channels, own.reduce(1, *) == result.reduce(1, *) else { continue }
            return value.layout.shifted(by: result.count - own.count)
        }
        return nil
    }

    /// Of an input, with axes of one element in front until there are as many as the result has.
    func aligned(_ index: Int) -> [Int] {
        [Int](repeating: 1, count: max(result.count - extents[index].count, 0)) + extents[index]
    }
}

/// How an operator is said in tensors (B, C, 1, S), after Apple's "Deploying Transformers on the Apple Neural Engine".
struct ChannelsRule: Sendable {
    let names: [String]
    /// nil: the operator is said with the axes of the program.
    let apply: @Sendable (ChannelsCall, inout FunctionLowering) throws -> LoweredValue?

    init(_ names: [String], _ apply: @escaping @Sendable (ChannelsCall, inout FunctionLowering) throws -> LoweredValue?)
    {
        self.names = names
        self.apply = apply
    }

    static let all: [ChannelsRule] = elementwise + shapes + products + norms

    static let byName = Dictionary(uniqueKeysWithValues: all.flatMap { rule in rule.names.map { ($0, rule) } })
}

extension FunctionLowering {
    /// An input of the extents `own`, laid out.
    /// - Parameter layout: of a value of as many axes as the result has; `own` are aligned to it.
    mutating func laidOut(
        _ input: LoweredValue, _ own: [Int], _ layout: ChannelsLayout, as type: MILDataType
    ) throws -> MILOperand {
        if let value = input.channels, value.operand.type.dataType == type,
            value.layout.shifted(by: own.count - value.extents.count) == layout
        {
            return value.operand
        }
        let label = builder.label
        let plain = try operand(input, as: type, label)
        let key = Converted(name: "\(plain.name) \(own)", type: type, layout: layout)
        if let known = converted[key] { return known }
        builder.label = "\(plain.name)_channels"
        let result = builder.laidOut(plain, own, layout)
        builder.label = label
        converted[key] = result
        return result
    }

    /// An input laid out with its last axis, and nothing else, as channels.
    mutating func channelsLast(_ call: ChannelsCall, _ index: Int) throws -> ChannelsValue {
        let own = call.extents[index]
        let standard = ChannelsLayout(of: own)
        if let value = call.inputs[index].channels, value.layout.channels == standard.channels { return value }
        let operand = try laidOut(call.inputs[index], own, standard, as: builder.floatType)
        return ChannelsValue(operand: operand, layout: standard, extents: own)
    }

    /// Parameters of the last axis, so that they broadcast along axis `axis` of four.
    mutating func parameters(_ input: LoweredValue, axis: Int) throws -> MILOperand {
        let label = builder.label
        let plain = try operand(input, as: builder.floatType, label)
        builder.label = "\(plain.name)_channels"
        defer { builder.label = label }
        var extents = [1, 1, 1, 1]
        extents[axis] = plain.extents.reduce(1, *)
        return builder.reshaped(plain, extents)
    }
}
