import AccelPrograms
import AccelTensors

/// A call with its operands in memory, as kernels are prepared for it.
struct PreparedCall {
    let operation: any Operator
    let label: String
    let inputs: [OperandMemory]
    let outputs: [OperandMemory]
    /// The values that a product adds to its result, of as many elements; nil: none.
    var residual: OperandMemory? = nil
    /// Where kernels reserve scratch memory.
    let workspace: Workspace

    /// The input that the operator declares by this name; nil where it is left out.
    func input(_ name: String) -> OperandMemory? {
        type(of: operation).position(of: name, among: inputs.map(\.elementType)).map { inputs[$0] }
    }

    /// Rejects a call that a kernel does not support.
    func require(_ condition: Bool, _ reason: @autoclosure () -> String) throws(Unsuitable) {
        if !condition { throw Unsuitable(reason()) }
    }

    /// Rejects operands that are not float32, contiguous and in memory.
    func requireContiguousFloats(_ operands: [OperandMemory]) throws(Unsuitable) {
        for operand in operands where operand.contiguousFloats == nil {
            try require(operand.elementType == .float32, "takes float32 only")
            try require(operand.isInMemory, "reads no stored weight")
            throw Unsuitable("reads no strided operand")
        }
    }
}

extension PreparedCall {
    /// - Throws: `FormatError` when an operand lies outside of its storage.
    init(_ call: KernelCall, in memory: FunctionMemory, _ workspace: Workspace) throws {
        self.init(
            operation: call.operation, label: call.label, inputs: try call.inputs.map(memory.operand),
            outputs: try call.outputs.map(memory.operand), workspace: workspace)
    }
}

/// Why a kernel does not take a call.
struct Unsuitable: Error, Equatable {
    let reason: String
    init(_ reason: String) { self.reason = reason }
}

/// A fast way to compute a call. A conforming type is one file in `Kernels/` and one line in `Kernels.swift`.
///
/// Making one prepares it: shapes, strides and scratch memory are known, so its steps allocate nothing, take no lock,
/// and decode weights only where they are multiplied. A kernel agrees with the operator's reference implementation to
/// float32 rounding, and its result does not depend on the number of workers.
protocol Kernel: Sendable {
    /// The operators that it computes.
    static var operators: [any Operator.Type] { get }
    /// It reads inputs of any layout. Where no kernel of an operator does, the planner makes them contiguous first.
    static var readsStrided: Bool { get }
    /// It writes an output of any layout, so that a transpose after it costs nothing.
    static var writesStrided: Bool { get }
    /// It can write the elements that it replaces into its first input's memory, and leave the others: so a cache is
    /// updated in place.
    static var updatesInPlace: Bool { get }
    /// - Throws: `Unsuitable` when it cannot compute this call: another layout, type or attribute than it is made for.
    init(_ call: PreparedCall) throws(Unsuitable)
    /// The estimated cost of the call, to compare with other kernels of the operator; the lowest is chosen.
    var cost: Double { get }
    /// The reason that the kernel is suitable, for the table of choices.
    var reason: String { get }
    /// Throws for invalid values, such as an index out of range, before the steps run.
    /// - Throws: `OperatorError`
    var check: (@Sendable () throws -> Void)? { get }
    /// The steps of a run, in order.
    var steps: [KernelStep] { get }
    /// How its weight is packed as a whole; nil if it packs none. Its steps use `StoredWeight.packed` where it is there.
    var packing: WeightPacking? { get }
}

extension Kernel {
    static var readsStrided: Bool { false }
    static var writesStrided: Bool { false }
    static var updatesInPlace: Bool { false }
    var cost: Double { 1 }
    var reason: String { "operands in contiguous memory" }
    var check: (@Sendable () throws -> Void)? { nil }
    var packing: WeightPacking? { nil }
}
