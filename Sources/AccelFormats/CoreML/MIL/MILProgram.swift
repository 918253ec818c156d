/// A constant of a program. Small constants are immediate values; weights are entries of the blob file.
public struct MILValue: Hashable, Sendable {
    /// The elements in row-major order, or a reference to them (TensorValue and BlobFileValue in MIL.proto).
    public enum Content: Hashable, Sendable {
        /// Elements of float32.
        case floats([Float])
        /// Elements of float64.
        case doubles([Double])
        /// Elements of int32, int16 or uint16.
        case integers([Int32])
        /// Elements of int64 or uint64.
        case longs([Int64])
        /// Elements of bool.
        case flags([Bool])
        /// Elements of string.
        case words([String])
        /// Little-endian elements of the other types. Elements smaller than a byte are packed, the first in the lowest bits.
        case bytes([UInt8])
        /// The offset of the entry's description in the blob file, in bytes.
        case blob(offset: Int)
    }
    /// Element type and shape.
    public var type: MILTensorType
    /// The elements.
    public var content: Content

    /// A constant of a type. The number of elements must match the shape.
    public init(_ type: MILTensorType, _ content: Content) {
        self.type = type
        self.content = content
    }

    /// A scalar string.
    public init(_ word: String) { self.init(MILTensorType(.string, []), .words([word])) }
    /// A scalar bool.
    public init(_ flag: Bool) { self.init(MILTensorType(.bool, []), .flags([flag])) }
    /// A scalar int32; larger numbers are clamped.
    public init(_ integer: Int) { self.init(MILTensorType(.int32, []), .integers([Int32(clamping: integer)])) }
    /// A vector of int32; larger numbers are clamped.
    public init(_ integers: [Int]) {
        self.init(MILTensorType(.int32, [integers.count]), .integers(integers.map(Int32.init(clamping:))))
    }
    /// A vector of bool.
    public init(flags: [Bool]) { self.init(MILTensorType(.bool, [flags.count]), .flags(flags)) }
}

/// An argument of an operation: the name of a value, or a constant.
public enum MILBinding: Equatable, Sendable {
    /// The name of an input of the function, or of an earlier operation's output.
    case name(String)
    /// An immediate constant.
    case value(MILValue)
}

/// A name with its content. Lists of these replace dictionaries where the order in the file matters.
public struct MILNamed<Content: Equatable & Sendable>: Equatable, Sendable {
    /// The name.
    public var name: String
    /// The content of the name.
    public var content: Content
    /// A name with its content.
    public init(_ name: String, _ content: Content) {
        self.name = name
        self.content = content
    }
}

/// One operation of a function (Operation in MIL.proto).
public struct MILOperation: Equatable, Sendable {
    /// The operation's type, e.g. `linear`, `constexpr_lut_to_dense`.
    public var type: String
    /// The arguments by parameter; a list parameter has several bindings.
    public var inputs: [MILNamed<[MILBinding]>]
    /// The outputs with their types; their names are unique in the function.
    public var outputs: [MILNamed<MILType>]
    /// The attributes, e.g. `name`, and `val` of constants.
    public var attributes: [MILNamed<MILValue>]

    /// An operation with its arguments, outputs and attributes.
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

/// A function of a program: operations in execution order (Function in MIL.proto).
public struct MILFunction: Equatable, Sendable {
    /// The name of the function, e.g. `main`.
    public var name: String
    /// The inputs and states with their types.
    public var inputs: [MILNamed<MILType>]
    /// The operation set, e.g. `CoreML8`.
    public var opset: String
    /// The operations; each uses inputs and outputs of earlier ones only.
    public var operations: [MILOperation]
    /// The names of the values that the function returns.
    public var outputs: [String]

    /// A function of an operation set.
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
    /// The functions in the order of the file.
    public var functions: [MILFunction]
    /// A program of these functions.
    public init(functions: [MILFunction]) { self.functions = functions }
}
