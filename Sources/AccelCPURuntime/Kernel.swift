import AccelPrograms

/// A call with its operands in memory.
struct PreparedCall: Sendable {
    let operation: any Operator
    let label: String
    let inputs: [OperandMemory]
    let outputs: [OperandMemory]
}

extension PreparedCall {
    /// - Throws: `FormatError` when an operand lies outside of its storage.
    init(_ call: KernelCall, in memory: FunctionMemory) throws {
        self.init(
            operation: call.operation, label: call.label, inputs: try call.inputs.map(memory.operand),
            outputs: try call.outputs.map(memory.operand))
    }
}

/// A fast way to compute a call. A conforming type is one file in `Kernels/` and one line in `Kernels.swift`.
///
/// A kernel agrees with the operator's reference meaning to float32 rounding, and its result does not depend on the
/// number of workers.
protocol Kernel: Sendable {
    /// The operators that it computes.
    static var operators: [any Operator.Type] { get }
    /// Nil when it cannot compute this call: another layout, type or attribute than it is made for.
    init?(_ call: PreparedCall)
    /// - Throws: `OperatorError` for values that have no meaning, such as an index out of range.
    func run(on workers: Workers) throws
}
