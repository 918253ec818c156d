/// A constant in a program's text: small ones lie in the text itself, weights in the blob file.
public struct MILValue: Hashable, Sendable {
    public enum Content: Hashable, Sendable {
        case floats([Float])
        case doubles([Double])
        case integers([Int32])
        case longs([Int64])
        case flags([Bool])
        case words([String])
        /// Little-endian elements; those of less than a byte as a stream of bits, the first in the lowest bits.
        case bytes([UInt8])
        /// Where the entry's description lies in the blob file, in bytes from its start.
        case blob(offset: Int)
    }
    public var type: MILTensorType
    public var content: Content

    public init(_ type: MILTensorType, _ content: Content) {
        self.type = type
        self.content = content
    }

    public init(_ word: String) { self.init(MILTensorType(.string, []), .words([word])) }
    public init(_ flag: Bool) { self.init(MILTensorType(.bool, []), .flags([flag])) }
    public init(_ integer: Int) { self.init(MILTensorType(.int32, []), .integers([Int32(clamping: integer)])) }
    public init(_ integers: [Int]) {
        self.init(MILTensorType(.int32, [integers.count]), .integers(integers.map(Int32.init(clamping:))))
    }
    public init(flags: [Bool]) { self.init(MILTensorType(.bool, [flags.count]), .flags(flags)) }
}

/// What an operation's parameter is given: the name of a value, or a constant.
public enum MILBinding: Equatable, Sendable {
    case name(String)
    case value(MILValue)
}

/// A name and what it has; lists of such keep the order in which they were written.
public struct MILNamed<Content: Equatable & Sendable>: Equatable, Sendable {
    public var name: String
    public var content: Content
    public init(_ name: String, _ content: Content) {
        self.name = name
        self.content = content
    }
}

public struct MILOperation: Equatable, Sendable {
    /// e.g. `linear`, `constexpr_lut_to_dense`
    public var type: String
    /// By parameter; a parameter that takes a list has several bindings.
    public var inputs: [MILNamed<[MILBinding]>]
    public var outputs: [MILNamed<MILType>]
    public var attributes: [MILNamed<MILValue>]

    public init(
        _ type: String, inputs: [MILNamed<[MILBinding]>] = [], outputs: [MILNamed<MILType>] = [],
        attributes: [MILNamed<MILValue>] = []
    ) {
        self.type = type
        self.inputs = inputs
        self.outputs = outputs
        self.attributes = attributes
    }
}

public struct MILFunction: Equatable, Sendable {
    public var name: String
    public var inputs: [MILNamed<MILType>]
    /// The set of operations that it is written in, e.g. `CoreML8`.
    public var opset: String
    public var operations: [MILOperation]
    public var outputs: [String]

    public init(
        name: String, inputs: [MILNamed<MILType>], opset: String, operations: [MILOperation], outputs: [String]
    ) {
        self.name = name
        self.inputs = inputs
        self.opset = opset
        self.operations = operations
        self.outputs = outputs
    }
}

/// An ML Program: functions that share one blob file.
public struct MILProgram: Equatable, Sendable {
    public var functions: [MILFunction]
    public init(functions: [MILFunction]) { self.functions = functions }
}
