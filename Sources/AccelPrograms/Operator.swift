public import AccelByteIO
public import AccelTensors

/// One kind of computation. A conforming type is one file in `Operators/` and one line in `Operators.swift`.
///
/// Values are row-major tensors. `inputs` declares what an operator reads.
public protocol Operator: Sendable {
    /// The name in program texts and packages, e.g. `layer_norm`.
    static var name: String { get }
    /// Goes up when the operator takes an attribute or an input more. A package made before means the same as ever: an
    /// operator that is to mean something else has another name.
    static var version: Int { get }
    /// What it reads, in the order of a node's inputs.
    static var inputs: [OperatorInput] { get }
    /// Reads the attributes that `attributes` writes.
    /// - Throws: `OperatorError`
    init(attributes: Attributes) throws
    var attributes: Attributes { get }

    /// The shape rule: the types of the outputs for these inputs, free dimensions included.
    /// - Throws: `OperatorError` naming what does not fit.
    func outputTypes(_ inputs: [TensorType]) throws -> [TensorType]
    /// The reference meaning in plain Swift: float32 values, float64 accumulation where sums are long.
    /// Inputs have passed the shape rule.
    /// - Throws: `OperatorError` for values that have no meaning, such as an index out of range.
    func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor]
    /// The same computation in more basic operators; nil for a primitive.
    func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]?
    /// Multiply-adds for these inputs; 0 where there are none to speak of.
    func multiplyAdds(_ inputs: [Shape]) -> Int
    /// Bytes that the reference meaning takes for a while, besides its inputs and outputs.
    func workBytes(_ inputs: [Shape]) -> Int

    /// Where the output lies when it is only another look at the first input's memory (reshape, transpose, slice); nil
    /// when it has to be computed.
    func view(of input: StridedLayout) -> StridedLayout?
}

extension Operator {
    public var name: String { Self.name }
    public static var version: Int { 1 }
    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? { nil }
    public func multiplyAdds(_ inputs: [Shape]) -> Int { 0 }
    /// The inputs with their axes in another order.
    public func workBytes(_ inputs: [Shape]) -> Int {
        saturatingProduct([MachineMemory.sum(inputs.map { saturatingProduct($0.dimensions) }), 4])
    }
    public func view(of input: StridedLayout) -> StridedLayout? { nil }

    /// `outputTypes`, and that each is a tensor that can exist: extents from 0 on whose product does not overflow.
    package func checkedOutputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        let types = try outputTypes(inputs)
        for type in types {
            let countable = type.shape.map { ($0.checkedCount ?? .max) < 1 << 48 } ?? true
            guard countable, type.dimensions.allSatisfy({ ($0.value ?? 0) >= 0 }), type.rank <= 8 else {
                throw OperatorError("no tensor can be \(type)")
            }
        }
        return types
    }
}

/// What does not fit, in words; the program adds which operator and where.
public struct OperatorError: ReportedError, Equatable {
    public var description: String
    public var exitStatus: ExitStatus { .usage }
    public init(_ description: String) { self.description = description }
}

/// An operator of a program whose inputs or attributes do not fit, or whose dimensions cannot be frozen.
public struct ShapeError: ReportedError, Equatable {
    /// e.g. `linear "encoder.layer.0.intermediate.dense"`
    public var `operator`: String
    public var reason: String
    public var exitStatus: ExitStatus { .usage }
    public var description: String { "operator \(`operator`): \(reason)" }
    public init(operator: String, reason: String) {
        self.operator = `operator`
        self.reason = reason
    }
}

/// The product, or the largest integer where it overflows.
func saturatingProduct(_ factors: some Sequence<Int>) -> Int {
    factors.reduce(1) { product, factor in
        let (next, overflow) = product.multipliedReportingOverflow(by: factor)
        return overflow ? .max : next
    }
}

extension TensorType {
    public func require(rank: ClosedRange<Int>, _ what: String) throws {
        guard rank.contains(self.rank) else {
            let wanted = rank.count == 1 ? "\(rank.lowerBound)" : "\(rank.lowerBound) to \(rank.upperBound)"
            throw OperatorError("\(what): expected rank \(wanted), found \(self)")
        }
    }
}

/// - Throws: `OperatorError` naming `what`, e.g. "weight columns", when the extents differ.
public func requireEqual(_ found: Dimension, _ expected: Dimension, _ what: String) throws {
    guard found == expected else { throw OperatorError("\(what): expected \(expected), found \(found)") }
}
