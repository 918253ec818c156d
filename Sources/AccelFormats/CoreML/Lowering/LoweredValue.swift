import AccelPrograms

/// A value of a program while its function is lowered.
enum LoweredValue {
    case constant(Program.Constant)
    /// An operand with the axes of the program.
    case operand(MILOperand)
    /// An operand in the Neural Engine's layout.
    case channels(ChannelsValue)
    /// Consecutive parts of the last axis, each in the Neural Engine's layout.
    case pieces([ChannelsValue])

    var channels: ChannelsValue? {
        if case .channels(let value) = self { value } else { nil }
    }
    var constant: Program.Constant? {
        if case .constant(let constant) = self { constant } else { nil }
    }
}
