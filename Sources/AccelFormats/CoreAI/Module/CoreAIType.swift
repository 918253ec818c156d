/// The type of a value, or a type that an attribute names.
indirect enum CoreAIType: Hashable, Sendable {
    /// A type of elements by itself.
    case element(CoreAIElement)
    case tensor([Int], CoreAIElement)
    /// A tensor of which a mask keeps some elements.
    case sparse([Int], CoreAIElement, nonZero: Int)
    case function(results: [CoreAIType], operands: [CoreAIType])
    /// A state, which lasts from one run to the next.
    case handle(CoreAIType)
    /// The order of reads and writes of a state.
    case token
    /// The name of a function.
    case symbol
}

/// A constant property of an operation.
indirect enum CoreAIAttribute: Hashable, Sendable {
    /// A choice of the dialect, by the number of its attribute.
    enum Choice: Int, CaseIterable, Sendable {
        case padding = 17, gelu = 19, scan = 25, interpolation = 43
    }

    case string(String)
    case integer(Int64, width: Int, isUnsigned: Bool)
    /// The bits of a number, in a width of 16, 32 or 64.
    case float(UInt64, width: Int)
    case type(CoreAIType)
    case array([CoreAIAttribute])
    /// Elements of a small tensor: one for all if it is a splat. Elements of less than a byte take a whole one.
    case elements([UInt8], isSplat: Bool)
    /// The elements of a tensor in the table of resources.
    case resource(Int)
    case named(String, [CoreAIAttribute])
    case symbols([String])
    case parameter(CoreAIAttribute, CoreAIType)
    case choice(Choice, Int)
    case sparsity(nonZero: Int)
    case file([String])
    case source(CoreAIAttribute, [Int])
    case location(CoreAIAttribute, CoreAIAttribute)
    case dictionary([CoreAIAttribute])
    case unit

    static func flag(_ isSet: Bool) -> CoreAIAttribute { .integer(isSet ? 1 : 0, width: 1, isUnsigned: true) }

    /// The location of everything: of no source. It is not stored: the leak sanitizer does not find the memory of an indirect
    /// enumeration by the tagged pointers of a global.
    static var nowhere: CoreAIAttribute { .location(.source(.file(["", "", ""]), [0, 0, 0, 0]), .unit) }
}
