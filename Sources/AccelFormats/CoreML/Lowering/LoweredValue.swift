import AccelPrograms

/// Where a value of a program is while its function is lowered.
enum LoweredValue {
    case constant(Program.Constant)
    /// With the axes that the program says.
    case operand(MILOperand)
    /// With its axes laid out for the Neural Engine.
    case channels(ChannelsValue)
    /// Parts of its last axis, one after the other, each laid out for the Neural Engine.
    case pieces([ChannelsValue])

    var channels: ChannelsValue? {
        if case .channels(let value) = self { value } else { nil }
    }
    var constant: Program.Constant? {
        if case .constant(let constant) = self { constant } else { nil }
    }
}
