import AccelPrograms

/// An operator with its lowered inputs, to be computed in the Neural Engine's layout.
struct ChannelsCall {
    let operation: any Operator
    let inputs: [LoweredValue]
    /// The shapes of the inputs in the program.
    let sizes: [[Int]]
    /// The shape of the result in the program.
    let result: [Int]
    let resultType: MILDataType

    /// The layout of the first input that is in the Neural Engine's layout and has all axes of the result.
    var leading: ChannelsLayout? {
        for (input, own) in zip(inputs, sizes) {
            guard let value = input.channels, own.reduce(1, *) == result.reduce(1, *) else { continue }
            return value.layout.shifted(by: result.count - own.count)
        }
        return nil
    }

    /// Returns the shape of an input, padded with leading axes of size 1 to the rank of the result.
    func aligned(_ index: Int) -> [Int] {
        [Int](repeating: 1, count: max(result.count - sizes[index].count, 0)) + sizes[index]
    }
}

/// A lowering rule for tensors (B, C, 1, S), after Apple's "Deploying Transformers on the Apple Neural Engine".
struct ChannelsRule: Sendable {
    let names: [String]
    /// Lowers an operator; returns nil if it has to be lowered with the axes of the program.
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
    /// Converts an input of the shape `own` to a layout.
    /// - Parameter layout: a layout for the rank of the result; `own` is aligned to it.
    mutating func laidOut(
        _ input: LoweredValue, _ own: [Int], _ layout: ChannelsLayout, as type: MILDataType
    ) throws -> MILOperand {
        if let value = input.channels, value.operand.type.dataType == type,
            value.layout.shifted(by: own.count - value.sizes.count) == layout
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

    /// Converts an input to the layout with only its last axis as channels.
    mutating func channelsLast(_ call: ChannelsCall, _ index: Int) throws -> ChannelsValue {
        let own = call.sizes[index]
        let standard = ChannelsLayout(of: own)
        if let value = call.inputs[index].channels, value.layout.channels == standard.channels { return value }
        let operand = try laidOut(call.inputs[index], own, standard, as: builder.floatType)
        return ChannelsValue(operand: operand, layout: standard, sizes: own)
    }

    /// Converts parameters of the last axis, so that they broadcast along axis `axis` of four.
    mutating func parameters(_ input: LoweredValue, axis: Int) throws -> MILOperand {
        let label = builder.label
        let plain = try operand(input, as: builder.floatType, label)
        builder.label = "\(plain.name)_channels"
        defer { builder.label = label }
        var sizes = [1, 1, 1, 1]
        sizes[axis] = plain.sizes.reduce(1, *)
        return builder.reshaped(plain, sizes)
    }
}
