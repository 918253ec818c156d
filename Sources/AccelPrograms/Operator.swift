public import AccelByteIO
public import AccelTensors

/// How far the results of two right implementations of an operator may be apart, on equal inputs.
public enum ResultRounding: Sendable {
    /// Not at all: elements are copied, or are one operation of IEEE 754, rounded once.
    case exact
    /// By the last bits of each element, as those of a function that is approximated.
    case elementwise
    /// By the roundings of sums, which depend on the order of their terms.
    case accumulated
}

/// One kind of computation. A conforming type is one file in `Operators/` and one line in `Operators.swift`.
///
/// Values are row-major tensors. `inputs` declares what an operator reads.
public protocol Operator: Sendable {
    /// The name in program texts and packages, e.g. `layer_norm`.
    static var name: String { get }
    /// Increases when the operator gets another attribute or input. Old packages keep their meaning: if the meaning has
    /// to change, the operator gets another name.
    static var version: Int { get }
    /// The inputs, in the order of a node's inputs.
    static var inputs: [OperatorInput] { get }
    /// Reads the attributes that `attributes` writes.
    /// - Throws: `OperatorError`
    init(attributes: Attributes) throws
    /// The attributes as programs and packages store them; `init(attributes:)` reads them.
    var attributes: Attributes { get }

    /// Applies the shape rule: returns the types of the outputs for these inputs, with free dimensions or numbers.
    /// - Throws: `OperatorError` naming the input or attribute that does not fit.
    func outputTypes(_ inputs: [TensorType]) throws -> [TensorType]
    /// Computes the reference result in plain Swift: float32 values, with float64 accumulation in long sums.
    /// The inputs have passed the shape rule.
    /// - Throws: `OperatorError` for values that are not valid, such as an index out of range.
    func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor]
    /// Builds the same computation from more basic operators; returns nil for a primitive.
    func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]?
    /// Returns the number of multiply-adds for these inputs; 0 if they are negligible.
    func multiplyAdds(_ inputs: [Shape]) -> Int
    /// Returns the bytes of temporary memory that the reference implementation takes, without its inputs and outputs.
    func workBytes(_ inputs: [Shape]) -> Int

    /// How far the results of two right implementations may be apart.
    static var rounding: ResultRounding { get }

    /// Returns the layout of the output as a view of the first input's memory (reshape, transpose, slice); nil if the
    /// output has to be computed.
    func view(of input: StridedLayout) -> StridedLayout?
}

extension Operator {
    /// The operator's name, e.g. `layer_norm`.
    public var name: String { Self.name }
    public static var version: Int { 1 }
    public static var rounding: ResultRounding { .accumulated }
    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? { nil }
    public func multiplyAdds(_ inputs: [Shape]) -> Int { 0 }
    /// Enough for a copy of each input with its axes permuted.
    public func workBytes(_ inputs: [Shape]) -> Int {
        saturatingProduct([MachineMemory.sum(inputs.map { saturatingProduct($0.dimensions) }), 4])
    }
    public func view(of input: StridedLayout) -> StridedLayout? { nil }

    /// Applies the shape rule, and checks that each output can exist: its sizes are not negative, and their product is
    /// below 2^48.
    package func checkedOutputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        let types = try outputTypes(inputs)
        for type in types {
            guard type.dimensions.allSatisfy({ ($0.value ?? 0) >= 0 }) else {
                throw OperatorError("\(type) has a negative size")
            }
            guard type.rank <= 8 else { throw OperatorError("\(type) has \(type.rank) axes; at most 8 are allowed") }
            guard type.shape.map({ ($0.checkedCount ?? .max) < 1 << 48 }) ?? true else {
                throw OperatorError("\(type) is too large: it has 2^48 elements or more; choose smaller sizes")
            }
        }
        return types
    }
}

/// A mismatch of inputs or attributes, without its location; the program adds the operator and its label.
public struct OperatorError: ReportedError, Equatable {
    /// The mismatch, such as `input 1: expected I64, found F32[2]`.
    public var description: String
    public var exitStatus: ExitStatus { .usage }
    /// Creates an error with this description.
    public init(_ description: String) { self.description = description }
}

/// A located error: an operator whose inputs or attributes do not fit, or whose dimensions cannot be frozen.
public struct ShapeError: ReportedError, Equatable {
    /// The location, such as `linear "encoder.layer.0.intermediate.dense"`.
    public var `operator`: String
    /// The mismatch, and how to resolve it.
    public var reason: String
    public var exitStatus: ExitStatus { .usage }
    public var parts: [JSON.Member] {
        [.init("operator", .string(`operator`)), .init("reason", .string(reason))]
    }
    public var description: String { "operator \(`operator`): \(reason)" }
    /// Creates an error for an operator, a port or a state.
    public init(operator: String, reason: String) {
        self.operator = `operator`
        self.reason = reason
    }
}

/// Returns the product, or the largest integer on overflow.
func saturatingProduct(_ factors: some Sequence<Int>) -> Int {
    factors.reduce(1) { product, factor in
        let (next, overflow) = product.multipliedReportingOverflow(by: factor)
        return overflow ? .max : next
    }
}

extension TensorType {
    /// Checks the rank.
    /// - Parameter what: the name of the input in the error, such as `weight`.
    /// - Throws: `OperatorError`.
    public func require(rank: ClosedRange<Int>, _ what: String) throws {
        guard rank.contains(self.rank) else {
            let wanted = rank.count == 1 ? "\(rank.lowerBound)" : "\(rank.lowerBound) to \(rank.upperBound)"
            throw OperatorError("\(what): expected rank \(wanted), found \(self)")
        }
    }
}

/// Checks that two sizes are equal expressions.
/// - Throws: `OperatorError` naming `what`, such as "columns of the weight".
public func requireEqual(_ found: Dimension, _ expected: Dimension, _ what: String) throws {
    guard found == expected else { throw OperatorError("\(what): expected \(expected), found \(found)") }
}
